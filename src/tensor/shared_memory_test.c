// Tests of shared tensor memory: what is taken and given back, and what another process sees of it.
#include "base/random.h"
#include "tensor/buffer.h"
#include "tensor/shared_memory.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE_BYTES ((size_t)4096)

static int start(void **state)
{
    (void)state;
    bd_shared_memory_start();
    bd_shared_region region;
    return bd_shared_memory_region(&region) ? 0 : -1;
}

static void pieces_do_not_overlap_and_are_taken_again(void **state)
{
    (void)state;
    enum {
        PIECES = 64
    };
    uint8_t *pieces[PIECES] = {0};
    size_t sizes[PIECES];
    bd_rng rng = bd_rng_init(3);
    for (int i = 0; i < 2000; i++) {
        const uint64_t k = bd_rng_below(&rng, PIECES);
        if (pieces[k]) {
            for (size_t at = 0; at < sizes[k]; at += PAGE_BYTES)
                assert_int_equal(pieces[k][at], k + 1);
            assert_true(bd_shared_memory_give(pieces[k], sizes[k]));
            pieces[k] = NULL;
        } else {
            sizes[k] = 1 + bd_rng_below(&rng, 20 * PAGE_BYTES);
            pieces[k] = bd_shared_memory_take(sizes[k]);
            assert_non_null(pieces[k]);
            assert_int_equal(pieces[k][0], 0); // it holds nothing of before
            memset(pieces[k], (int)k + 1, sizes[k]);
        }
    }
    for (int k = 0; k < PIECES; k++)
        if (pieces[k]) assert_true(bd_shared_memory_give(pieces[k], sizes[k]));
    // All extents have joined: the whole region can be taken but for what others have taken.
    bd_shared_region region;
    bd_shared_memory_region(&region);
    void *large = bd_shared_memory_take(8 << 20), *next = bd_shared_memory_take(PAGE_BYTES);
    assert_true((uint8_t *)next == (uint8_t *)large + (8 << 20));
    bd_shared_memory_give(large, 8 << 20);
    bd_shared_memory_give(next, PAGE_BYTES);
    assert_null(bd_shared_memory_take(region.bytes + 1));
}

static void memory_of_others_is_not_freed_here(void **state)
{
    (void)state;
    int own;
    assert_false(bd_shared_memory_give(&own, sizeof own));
}

static void buffers_of_these_sizes_are_shared(void **state)
{
    (void)state;
    bd_shared_region region;
    bd_shared_memory_region(&region);
    const size_t sizes[] = {BD_SHARED_MEMORY_MIN / 2, BD_SHARED_MEMORY_MIN, BD_SHARED_MEMORY_MAX,
                            2 * BD_SHARED_MEMORY_MAX};
    const bool are_shared[] = {false, true, true, false};
    for (int i = 0; i < 4; i++) {
        bd_buffer *b = bd_buffer_new(sizes[i]);
        const uint64_t at = (uintptr_t)b->data;
        assert_int_equal(at >= region.base && at < region.base + region.bytes, are_shared[i]);
        memset(b->data, 1, sizes[i]);
        bd_buffer_unref(b);
    }
    bd_buffer_pool_trim(0);
}

static int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// The child is the other process: it maps the region of this one.
static int read_as_peer(pid_t parent, const bd_shared_region *region, const uint8_t *piece, size_t bytes)
{
    bd_peer_memory *m = bd_peer_memory_add(parent, region);
    if (!m) return 1;
    if (bd_peer_memory_find(parent + 1, (uintptr_t)piece, bytes)) return 2;
    if (bd_peer_memory_find(parent, region->base + region->bytes, 1)) return 3;
    if (bd_peer_memory_find(parent, region->base + 1, region->bytes)) return 4;
    if (bd_peer_memory_find(parent, region->base - 1, 2)) return 5;
    bd_peer_memory *found = bd_peer_memory_find(parent, (uintptr_t)piece, bytes);
    if (found != m) return 6;
    const uint8_t *seen = bd_peer_memory_at(found, (uintptr_t)piece, bytes);
    for (size_t i = 0; i < bytes; i++)
        if (seen[i] != (uint8_t)(i * 7)) return 7;
    bd_peer_memory_remove(m); // the one who reads may go on
    if (seen[1] != 7) return 8;
    bd_peer_memory_unref(found);
    return bd_peer_memory_find(parent, (uintptr_t)piece, bytes) ? 9 : 0;
}

static void another_process_sees_what_is_written(void **state)
{
    (void)state;
    bd_shared_region region;
    bd_shared_memory_region(&region);
    const size_t bytes = 3 * PAGE_BYTES;
    uint8_t *piece = bd_shared_memory_take(bytes);
    for (size_t i = 0; i < bytes; i++)
        piece[i] = (uint8_t)(i * 7);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) _exit(read_as_peer(parent, &region, piece, bytes));
    assert_int_equal(status_of(child), 0);
    bd_shared_memory_give(piece, bytes);
}

static int use_as_child(uint8_t *piece, size_t bytes)
{
    bd_shared_region region;
    if (piece[0] != 1) return 1;
    memset(piece, 2, bytes);
    if (!bd_shared_memory_give(piece, bytes)) return 2;
    if (bd_shared_memory_region(&region) || bd_shared_memory_take(bytes)) return 3;
    void *cell = bd_shared_cell_new();
    if (bd_shared_memory_has(cell)) return 4;
    bd_shared_cell_free(cell);
    const pid_t child = fork();
    if (child == 0) _exit(piece[bytes - 1] == 2 ? 0 : 1);
    return status_of(child) ? 5 : 0;
}

static void a_child_of_fork_has_a_copy(void **state)
{
    (void)state;
    const size_t bytes = 3 * PAGE_BYTES;
    uint8_t *piece = bd_shared_memory_take(bytes);
    memset(piece, 1, bytes);
    const pid_t child = fork();
    if (child == 0) _exit(use_as_child(piece, bytes));
    assert_int_equal(status_of(child), 0);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(piece[i], 1);
    bd_shared_memory_give(piece, bytes);
}

// A reference to a buffer that the parent has given one up of meanwhile.
static int drop_as_child(bd_buffer *b, int parent_has_dropped)
{
    char told;
    if (read(parent_has_dropped, &told, 1) != 1) return 1;
    bd_buffer_unref(b);
    bd_buffer *other = bd_buffer_new(b->size);
    if (other == b) return 2;
    if (bd_shared_memory_has(other->data)) return 3; // a block that the parent has free, and may use
    return 0;
}

static void a_child_of_fork_counts_its_own_references(void **state)
{
    (void)state;
    int ends[2];
    bd_buffer *unused = bd_buffer_new(BD_SHARED_MEMORY_MIN), *b = bd_buffer_new(BD_SHARED_MEMORY_MIN);
    bd_buffer_unref(unused);
    bd_buffer_ref(b);
    assert_true(bd_shared_memory_has(b->data));
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) _exit(drop_as_child(b, ends[0]));
    bd_buffer_unref(b);
    assert_int_equal(write(ends[1], "", 1), 1);
    assert_int_equal(status_of(child), 0);
    bd_buffer_unref(b);
    close(ends[0]);
    close(ends[1]);
    bd_buffer_pool_trim(0);
}

static void a_file_that_can_shrink_is_no_region(void **state)
{
    (void)state;
    const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, (off_t)PAGE_BYTES), 0);
    const bd_shared_region region = {fd, 4096, PAGE_BYTES};
    assert_null(bd_peer_memory_add(1, &region));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_null(bd_peer_memory_add(1, &(bd_shared_region){fd, 4096, 2 * PAGE_BYTES}));
    assert_null(bd_peer_memory_add(1, &(bd_shared_region){fd, UINT64_MAX - 1, PAGE_BYTES}));
    bd_peer_memory *m = bd_peer_memory_add(1, &region);
    assert_non_null(m);
    bd_peer_memory_remove(m);
    close(fd);
}

static void cells_are_distinct_and_full_of_zeros(void **state)
{
    (void)state;
    uint8_t *a = bd_shared_cell_new(), *b = bd_shared_cell_new();
    memset(a, 1, BD_SHARED_CELL_BYTES);
    for (size_t i = 0; i < BD_SHARED_CELL_BYTES; i++)
        assert_int_equal(b[i], 0);
    bd_shared_cell_free(a);
    uint8_t *c = bd_shared_cell_new();
    for (size_t i = 0; i < BD_SHARED_CELL_BYTES; i++)
        assert_int_equal(c[i], 0);
    bd_shared_cell_free(b);
    bd_shared_cell_free(c);
    bd_shared_cell_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_overlap_and_are_taken_again),
        cmocka_unit_test(memory_of_others_is_not_freed_here),
        cmocka_unit_test(buffers_of_these_sizes_are_shared),
        cmocka_unit_test(another_process_sees_what_is_written),
        cmocka_unit_test(a_child_of_fork_has_a_copy),
        cmocka_unit_test(a_child_of_fork_counts_its_own_references),
        cmocka_unit_test(a_file_that_can_shrink_is_no_region),
        cmocka_unit_test(cells_are_distinct_and_full_of_zeros),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
