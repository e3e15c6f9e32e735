// The heap of a priority queue: an array in which each parent leaves before its children.
#include "ops/data_flow/queue.h"

#include <string.h>

static braid_tensor *element_at(const bd_queue *q, int64_t i)
{
    return &q->elements[i * q->options.component_count];
}

static bool comes_before(const bd_queue *q, int64_t i, int64_t j)
{
    const int64_t a = bd_tensor_i64(element_at(q, i))[0], b = bd_tensor_i64(element_at(q, j))[0];
    return a != b ? a < b : q->turns[i] < q->turns[j];
}

static void swap(bd_queue *q, int64_t i, int64_t j)
{
    braid_tensor *a = element_at(q, i), *b = element_at(q, j);
    for (int k = 0; k < q->options.component_count; k++) {
        const braid_tensor t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
    const int64_t turn = q->turns[i];
    q->turns[i] = q->turns[j];
    q->turns[j] = turn;
}

void bd_queue_heap_push_locked(bd_queue *q, int64_t turn)
{
    int64_t i = q->count - 1;
    q->turns[i] = turn;
    for (int64_t parent; i > 0 && comes_before(q, i, parent = (i - 1) / 2); i = parent)
        swap(q, i, parent);
}

void bd_queue_heap_pop_locked(bd_queue *q, braid_tensor *out)
{
    swap(q, 0, --q->count);
    memcpy(out, element_at(q, q->count), (size_t)q->options.component_count * sizeof *out);
    for (int64_t i = 0, child; (child = 2 * i + 1) < q->count; i = child) {
        if (child + 1 < q->count && comes_before(q, child + 1, child)) child++;
        if (!comes_before(q, child, i)) return;
        swap(q, i, child);
    }
}
