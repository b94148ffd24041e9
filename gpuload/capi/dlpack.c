#include "shardify.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// A lease is the number of those that hold a lent batch or a tensor's memory (lease in
// loader.go). Of a batch, whoever finds it 0 gives the batch back and frees the lease: the
// drop that made it so touches it no more. Of a tensor, that drop puts it into the list of
// those that came back.
typedef struct lease {
    _Atomic int64_t held;
    _Atomic(struct lease *) *list; // NULL: of a batch
    struct lease *next;
} lease;

void shardify_keep(void *p) { atomic_fetch_add_explicit(&((lease *)p)->held, 1, memory_order_relaxed); }

void shardify_drop(void *p) {
    lease *l = p;
    _Atomic(struct lease *) *list = l->list;
    if (atomic_fetch_sub_explicit(&l->held, 1, memory_order_acq_rel) != 1 || !list) return;
    l->next = atomic_load_explicit(list, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(list, &l->next, l, memory_order_release, memory_order_relaxed)) {
    }
}

// The structures of dlpack.h, versions 0 and 1, whose layout is fixed.
typedef struct {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct managed *);
} managed;

typedef struct versioned_managed {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct versioned_managed *);
    uint64_t flags;
    dl_tensor tensor;
} versioned_managed;

// A view is a managed tensor with the memory that it points to.
typedef struct {
    union {
        managed old;
        versioned_managed now;
    } u;
    int64_t shape[16];
    int64_t strides[16];
} view;

// Deleters run on any thread, without Python's lock, also while the process ends: they
// touch the lease and free memory, nothing else.
static void end_old(managed *m) {
    if (m->context) shardify_drop(m->context);
    free(m);
}

static void end_versioned(versioned_managed *m) {
    if (m->context) shardify_drop(m->context);
    free(m);
}

// fill returns whether the tensor has any memory. One that has none does not hold the
// lease: torch never calls the deleter of a tensor at NULL.
static int fill(dl_tensor *d, view *v, const shardify_tensor *t, int64_t address, int64_t count) {
    int64_t step = 1, n = count;
    memcpy(v->shape, t->shape, sizeof v->shape);
    v->shape[0] = count;
    for (int i = t->ndim - 1; i >= 0; i--) {
        v->strides[i] = step;
        step *= v->shape[i] > 0 ? v->shape[i] : 1;
        if (i > 0) n *= v->shape[i];
    }
    d->data = n > 0 ? (void *)(intptr_t)address : NULL; // consumers check that nothing lies nowhere
    d->device_type = t->device_type;
    d->device_id = t->device_id;
    d->ndim = t->ndim;
    d->code = (uint8_t)t->code;
    d->bits = (uint8_t)t->bits;
    d->lanes = 1;
    d->shape = v->shape;
    d->strides = v->strides;
    d->byte_offset = 0;
    return n > 0;
}

void *shardify_view(void *l, const shardify_tensor *t, int64_t address, int64_t count, int versioned) {
    if (t->ndim < 1 || t->ndim > 16) return NULL;
    view *v = calloc(1, sizeof *v);
    if (!v) return NULL;
    int some;
    if (versioned) {
        v->u.now.major = 1;
        v->u.now.deleter = end_versioned;
        v->u.now.flags = t->read_only ? 1 : 0;
        some = fill(&v->u.now.tensor, v, t, address, count);
        v->u.now.context = some ? l : NULL;
    } else {
        v->u.old.deleter = end_old;
        some = fill(&v->u.old.tensor, v, t, address, count);
        v->u.old.context = some ? l : NULL;
    }
    if (some) shardify_keep(l);
    return v;
}

void shardify_unview(void *p, int versioned) {
    if (versioned)
        ((versioned_managed *)p)->deleter(p);
    else
        ((managed *)p)->deleter(p);
}

static int (*is_valid)(void *, const char *);
static void *(*get_pointer)(void *, const char *);

void shardify_python(void *valid, void *get) {
    is_valid = (int (*)(void *, const char *))valid;
    get_pointer = (void *(*)(void *, const char *))get;
}

// A consumer renames the capsule; one that still has its name was not consumed.
void shardify_capsule(void *capsule) {
    if (is_valid(capsule, "dltensor"))
        shardify_unview(get_pointer(capsule, "dltensor"), 0);
    else if (is_valid(capsule, "dltensor_versioned"))
        shardify_unview(get_pointer(capsule, "dltensor_versioned"), 1);
}
