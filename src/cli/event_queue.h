// The events of a simulation, in the order of time.
#ifndef BD_CLI_EVENT_QUEUE_H
#define BD_CLI_EVENT_QUEUE_H

typedef struct bd_event {
    double at; // seconds
    int worker;
} bd_event;

// A binary heap. Events of the same time come in the order of workers.
typedef struct bd_event_queue {
    bd_event *items;
    int len;
} bd_event_queue;

// `room` events at most.
bd_event_queue bd_event_queue_new(int room);
void bd_event_queue_free(bd_event_queue *q);

void bd_event_queue_add(bd_event_queue *q, bd_event event);
// Removes the first event. The queue is not empty.
bd_event bd_event_queue_next(bd_event_queue *q);

#endif
