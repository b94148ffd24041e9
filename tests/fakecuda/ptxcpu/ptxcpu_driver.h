/* For a stand-in driver: cuLaunchKernel keeps a call, its stream makes it later.
 *
 *   struct ptxcpu_call *c = ptxcpu_take(name, grid, block, shared_bytes, kernelParams);  // copies the arguments now
 *   ...
 *   char why[600];
 *   if (ptxcpu_make(c, lookup, user, order, why, sizeof why)) ... why ...                       // runs, and frees c
 *
 * lookup (ptxcpu.h) says what memory an address is in, and whether a kernel may write it.
 * order (0, 1, 2) and seed choose the order of blocks and threads. Regions above 4 MiB
 * are not watched for races: they are what is measured with. */
#ifndef PTXCPU_DRIVER_H
#define PTXCPU_DRIVER_H
#include "ptxcpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ptxcpu_call {
    const ptxcpu_kernel *kernel;
    uint32_t grid[3], block[3], shared;
    uint8_t *at[64]; /* arguments, in the bytes behind */
    uint8_t bytes[];
};

static struct ptxcpu_call *ptxcpu_take(const char *name, const uint32_t grid[3], const uint32_t block[3], uint32_t shared, void *const *params) {
    const ptxcpu_kernel *k = ptxcpu_find(name);
    if (!k || k->params > 64) return 0;
    uint64_t n = 0;
    for (uint32_t i = 0; i < k->params; i++) n += k->param_sizes[i];
    struct ptxcpu_call *c = malloc(sizeof *c + n);
    c->kernel = k, c->shared = shared;
    memcpy(c->grid, grid, sizeof c->grid);
    memcpy(c->block, block, sizeof c->block);
    n = 0;
    for (uint32_t i = 0; i < k->params; i++) {
        c->at[i] = c->bytes + n;
        memcpy(c->at[i], params[i], k->param_sizes[i]);
        n += k->param_sizes[i];
    }
    return c;
}

static int ptxcpu_make(struct ptxcpu_call *c, int (*lookup)(void *, uint64_t, ptxcpu_region *), void *user, int order, char *why, size_t room) {
    ptxcpu_memory m;
    memset(&m, 0, sizeof m);
    m.lookup = lookup, m.user = user, m.dynamic_shared = c->shared;
    m.max_watched = 4 << 20, m.order = order, m.seed = 1;
    int r = c->kernel->run(c->grid, c->block, (const void *const *)c->at, &m);
    snprintf(why, room, "%s", m.message);
    free(c);
    return r;
}
#endif
