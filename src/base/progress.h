// Progress: a thread that waits for an event polls the transports for a while, and does their work itself.
// So no other thread has to be woken to receive the answer, and none has to wake the thread that waits.
#ifndef BD_BASE_PROGRESS_H
#define BD_BASE_PROGRESS_H

#include "base/thread.h"

// How long a thread polls before it sleeps. Waking a thread takes some 5 to 30 microseconds; polling gives
// the processor to any other thread that wants it.
#define BD_POLL_NS 200000

// Whether polling pays for a thread: if enough of its last waits ended within BD_POLL_NS. All zero: it does
// not.
typedef struct bd_poll_history {
    int short_waits;
} bd_poll_history;

void bd_poll_history_note(bd_poll_history *h, int64_t waited_ns);
bool bd_poll_history_pays(const bd_poll_history *h);

// What is polled, a transport for instance. The owner keeps the memory until bd_progress_remove.
typedef struct bd_progress {
    void (*begin)(void *arg); // a thread will poll until `end`
    bool (*poll)(void *arg);  // any number of threads at a time. False: there was nothing to do
    // `is_done`: what it waited for has happened, so that it may soon wait and poll again; else it sleeps.
    void (*end)(void *arg, bool is_done);
    void *arg;
    struct bd_progress *next;
    int users;
} bd_progress;

void bd_progress_add(bd_progress *p);
// Waits until no thread polls it. Not from within `poll`.
void bd_progress_remove(bd_progress *p);

// A wait. `is_over` is asked any number of times, with no lock held; `sleep` returns when it is over, or at
// the deadline of the wait.
typedef struct bd_wait {
    bool (*is_over)(void *arg);
    void (*sleep)(void *arg);
    void *arg;
} bd_wait;

// Polls for a while, if that has paid before on this thread, and sleeps then. The thread runs callbacks of
// transports: it must hold no lock.
void bd_wait_polling(const bd_wait *w);
// As bd_event_wait_until.
bool bd_event_wait_polling(bd_event *e, int64_t deadline_ns);

#endif
