// A binary heap of events.
#include "event_queue.h"

#include "base/alloc.h"
#include <stdbool.h>
#include <stddef.h>

bd_event_queue bd_event_queue_new(int room)
{
    return (bd_event_queue){.items = bd_calloc((size_t)room, sizeof(bd_event))};
}

void bd_event_queue_free(bd_event_queue *q)
{
    bd_free(q->items);
}

static bool is_before(const bd_event *a, const bd_event *b)
{
    return a->at < b->at || (a->at == b->at && a->worker < b->worker);
}

static void swap(bd_event *a, bd_event *b)
{
    const bd_event t = *a;
    *a = *b;
    *b = t;
}

void bd_event_queue_add(bd_event_queue *q, bd_event event)
{
    int i = q->len++;
    q->items[i] = event;
    for (; i > 0 && is_before(&q->items[i], &q->items[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&q->items[i], &q->items[(i - 1) / 2]);
}

bd_event bd_event_queue_next(bd_event_queue *q)
{
    const bd_event first = q->items[0];
    q->items[0] = q->items[--q->len];
    for (int i = 0;;) {
        int least = i;
        for (int k = 2 * i + 1; k <= 2 * i + 2 && k < q->len; k++)
            if (is_before(&q->items[k], &q->items[least])) least = k;
        if (least == i) return first;
        swap(&q->items[i], &q->items[least]);
        i = least;
    }
}
