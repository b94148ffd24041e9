// What the library exports. A child of fork has the memory of this process but not the
// threads of Go: a call that needs one would wait for ever. So every function asks first.
#include "shardify.h"

#include <pthread.h>
#include <stdlib.h>

#include "_cgo_export.h"

static volatile int forked;

static void in_child(void) { forked = 1; }

__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, in_child); }

#define HERE(call)                          \
    do {                                    \
        if (forked) return SHARDIFY_FORKED; \
        return call;                        \
    } while (0)

int shardify_open(const char *config, size_t size, const void *indices, int64_t n_indices, const double *weights,
                  int64_t n_weights, uint64_t *loader, char **info, char **error) {
    HERE(goOpen((char *)config, size, (void *)indices, n_indices, (double *)weights, n_weights, loader, info, error));
}

int shardify_next(uint64_t loader, int64_t timeout_ms, uint64_t stream, int lend, int64_t *step, char **error) {
    HERE(goNext(loader, timeout_ms, stream, lend, step, error));
}

int shardify_fetch(uint64_t loader, int64_t timeout_ms, uint64_t stream, int64_t *step, int64_t *to, char **error) {
    HERE(goFetch(loader, timeout_ms, stream, step, to, error));
}

int shardify_place(uint64_t loader, uint64_t address, char **error) { HERE(goPlace(loader, address, error)); }

int shardify_documents(const int32_t *lens, int64_t n, const int64_t *offsets, int64_t rows, int64_t stored, int64_t length,
                       int32_t *cu, int64_t room, int32_t *positions, uint8_t *mask, int64_t *found, char **error) {
    HERE(goDocuments((int32_t *)lens, n, (int64_t *)offsets, rows, stored, length, cu, room, positions, mask, found, error));
}

int shardify_take(uint64_t batch, uint64_t stream, int64_t *to, int64_t *bytes, int64_t n, char **error) {
    HERE(goTake(batch, stream, to, bytes, n, error));
}

int shardify_ids(uint64_t batch, int64_t *ids, int64_t n, char **error) { HERE(goIDs(batch, ids, n, error)); }

int shardify_ids_at(uint64_t loader, int64_t epoch, int64_t from, int64_t *ids, int64_t n, char **error) {
    HERE(goIDsAt(loader, epoch, from, ids, n, error));
}

int shardify_ready(uint64_t batch, uint64_t stream, char **error) { HERE(goReady(batch, stream, error)); }

int shardify_use(uint64_t batch, uint64_t stream, int leave, char **error) { HERE(goUse(batch, stream, leave, error)); }

int shardify_release(uint64_t batch, char **error) { HERE(goRelease(batch, error)); }

int shardify_settle(uint64_t batch, char **error) { HERE(goSettle(batch, error)); }

int shardify_state(uint64_t loader, char **state, char **error) { HERE(goState(loader, state, error)); }

int shardify_restore(uint64_t loader, const char *state, size_t size, char **error) {
    HERE(goRestore(loader, (char *)state, size, error));
}

int shardify_batches(uint64_t loader, int64_t epoch, int64_t from, int report, char **batches, char **error) { HERE(goBatches(loader, epoch, from, report, batches, error)); }
int shardify_order(uint64_t loader, int64_t epoch, const void *list, int64_t n, const char *type, char **answer, char **error) { HERE(goOrder(loader, epoch, (void *)list, n, (char *)type, answer, error)); }
int shardify_stats(uint64_t loader, char **stats, char **error) { HERE(goStats(loader, stats, error)); }

int shardify_close(uint64_t loader, char **error) { HERE(goClose(loader, error)); }

int shardify_probe(const char *device, char **info, char **error) { HERE(goProbe((char *)device, info, error)); }

int shardify_pixels(const char *device, uint64_t stream, const int64_t *form, const float *scales, const shardify_picture *pictures, int64_t n, char **error) {
    HERE(goPixels((char *)device, stream, (int64_t *)form, (float *)scales, (void *)pictures, n, error));
}

int shardify_dense(const char *device, uint64_t stream, const int64_t *form, char **error) { HERE(goDense((char *)device, stream, (int64_t *)form, error)); }

int shardify_decode(const char *form, size_t size, int64_t epoch, const uint8_t *values, int64_t bytes, const int64_t *offsets,
                    const int64_t *ids, int64_t n, uint8_t *out, int64_t room, double *moves, int64_t numbers, char **left, char **error) {
    HERE(goDecode((char *)form, size, epoch, (uint8_t *)values, bytes, (int64_t *)offsets, (int64_t *)ids, n, out, room, moves, numbers, left, error));
}

int shardify_following(const char *form, size_t size, char **text, char **error) { HERE(goFollowing((char *)form, size, text, error)); }

int shardify_follow(const char *form, size_t size, const int64_t *ids, int64_t n, const double *moves, int64_t numbers,
                    const int64_t *columns, int64_t words, char **left, char **error) {
    HERE(goFollow((char *)form, size, (int64_t *)ids, n, (double *)moves, numbers, (int64_t *)columns, words, left, error));
}

int shardify_sparse(const int64_t *form, const int32_t *columns, const void *values, const void *indices, int64_t n, const int64_t *offsets,
                    int64_t rows, void *const *to, const int64_t *room, int64_t *found, char **error) {
    HERE(goSparse((int64_t *)form, (int32_t *)columns, (void *)values, (void *)indices, n, (int64_t *)offsets, rows, (void **)to,
                  (int64_t *)room, found, error));
}

int shardify_image_size(const char *form, size_t size, int64_t *to, char **error) { HERE(goImageSize((char *)form, size, to, error)); }

int shardify_file_size(const char *name, int64_t *bytes, char **error) { HERE(goFileSize((char *)name, bytes, error)); }

int shardify_file(const char *wanted, size_t size, void *to, int64_t bytes, char **error) {
    HERE(goFile((char *)wanted, size, to, bytes, error));
}

int shardify_describe(const char *path, char **about, char **error) { HERE(goDescribe((char *)path, about, error)); }

int shardify_convert(const char *settings, size_t size, uint64_t *conversion, char **error) {
    HERE(goConvert((char *)settings, size, conversion, error));
}

int shardify_convert_wait(uint64_t conversion, int64_t timeout_ms, char **text, char **error) {
    HERE(goConvertWait(conversion, timeout_ms, text, error));
}

int shardify_convert_stop(uint64_t conversion, char **error) { HERE(goConvertStop(conversion, error)); }

void shardify_free(void *p) { free(p); }

int shardify_abi(void) { return SHARDIFY_ABI; }

int shardify_forked(void) { return forked; }
