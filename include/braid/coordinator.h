// Threads that work beside training and end together (tf.train.Coordinator, LooperThread).
//
//     braid_coordinator *c = braid_coordinator_new();
//     braid_coordinator_start(c, "reader", read_files, &files, status); // until braid_coordinator_should_stop
//     ...
//     braid_coordinator_request_stop(c, NULL);
//     braid_coordinator_join(c, 10000, status); // the first error that a thread returned
//     braid_coordinator_free(c);
//
// The first request decides: an error that comes with it is the coordinator's, later ones are consequences
// and are dropped. OutOfRange, the end of the input, and Cancelled, the end of a session, are clean stops.
// All functions may be called by any thread.
#ifndef BRAID_COORDINATOR_H
#define BRAID_COORDINATOR_H

#include <braid/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_coordinator braid_coordinator;

BRAID_API braid_coordinator *braid_coordinator_new(void);
/// Requests a stop and frees the coordinator; NULL is accepted. A thread that has not ended keeps what it
/// needs of the coordinator until it ends: braid_coordinator_join waits for the threads.
BRAID_API void braid_coordinator_free(braid_coordinator *coordinator);

// ---- Stopping ----

/// Asks all threads to end. `why` NULL, BRAID_OK, OutOfRange or Cancelled: no error.
BRAID_API void braid_coordinator_request_stop(braid_coordinator *coordinator, const braid_status *why);
/// Never blocks.
BRAID_API bool braid_coordinator_should_stop(const braid_coordinator *coordinator);
/// Waits until a stop is requested, at most `timeout_ms` (negative: without a limit). Returns whether it is.
BRAID_API bool braid_coordinator_wait_for_stop(braid_coordinator *coordinator, int64_t timeout_ms);
/// Forgets the request and its error, so that new threads can be started. The earlier threads have been
/// joined.
BRAID_API void braid_coordinator_clear_stop(braid_coordinator *coordinator);
/// The error of the request: its code, and a copy in `status` (may be NULL).
BRAID_API braid_code braid_coordinator_status(const braid_coordinator *coordinator, braid_status *status);

// ---- Threads ----

/// What a thread runs. An error that it returns, described in `status`, requests a stop.
typedef braid_code (*braid_coordinated_fn)(braid_coordinator *coordinator, void *arg, braid_status *status);

/// Starts a thread. `name` is copied. ResourceExhausted when the system gives no more threads.
BRAID_API braid_code braid_coordinator_start(braid_coordinator *coordinator, const char *name,
                                             braid_coordinated_fn fn, void *arg, braid_status *status);

/// A function that a thread calls again and again, at once and then every `every_seconds` by the clock, until
/// the coordinator stops (tf.train.LooperThread). The wait between calls ends at once with the request.
typedef struct braid_looper {
    const char *name;
    braid_coordinated_fn fn; ///< an error ends the loop and requests a stop
    void *arg;
    double every_seconds;    ///< 0: without a wait
    void (*free)(void *arg); ///< NULL: none; called once, when the loop has ended or could not be started
} braid_looper;

/// Starts the thread of a loop; `looper` is copied. InvalidArgument: no function, or a negative time.
BRAID_API braid_code braid_looper_start(braid_coordinator *coordinator, const braid_looper *looper,
                                        braid_status *status);

/// A thread that the program has started by itself.
typedef struct braid_coordinated_thread braid_coordinated_thread;

/// Makes braid_coordinator_join wait for a thread of the program's own, until the thread calls
/// braid_coordinated_thread_end. Before the thread is started. `name` is copied.
BRAID_API braid_coordinated_thread *braid_coordinator_register_thread(braid_coordinator *coordinator,
                                                                      const char *name);
/// Says that a registered thread has ended and uses the coordinator no more; once. `why` as for
/// braid_coordinator_request_stop, but without an error no stop is requested.
BRAID_API void braid_coordinated_thread_end(braid_coordinated_thread *thread, const braid_status *why);

/// Waits until all threads have ended. When a stop is requested meanwhile, they have `grace_ms` to end; 0:
/// two minutes. Returns the error of the request, or else DeadlineExceeded naming the threads that have not
/// ended. Not from a coordinated thread.
BRAID_API braid_code braid_coordinator_join(braid_coordinator *coordinator, int64_t grace_ms,
                                            braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
