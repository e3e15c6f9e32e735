// What one client uses: bytes of its tensors, graphs and forests, and time of processors.
//
// The executor enters the account of its step on each thread that runs kernels. Buffers that are made then
// count against the account as long as they live, and the time that the thread was busy counts as used.
#ifndef BD_BASE_ACCOUNT_H
#define BD_BASE_ACCOUNT_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bd_account bd_account;

// With one reference. `client` is for messages ("certificate 'alice'"). bytes_max: the most bytes at once, 0:
// no limit. processors: how many may be busy for the client in the long run, 0: no limit.
bd_account *bd_account_new(const char *client, int64_t bytes_max, double processors);
bd_account *bd_account_ref(bd_account *a); // NULL stays NULL
void bd_account_unref(bd_account *a);      // NULL is accepted

// The accounts of a server's clients, made when they are first asked for. Any thread.
typedef struct bd_accounts bd_accounts;
// The limits are those of each client, as those of bd_account_new.
bd_accounts *bd_accounts_new(int64_t bytes_max, double processors);
void bd_accounts_free(bd_accounts *as); // NULL is accepted
// Valid as long as `as`. NULL: the client has no limits, because there are none or its name is "" or NULL.
bd_account *bd_accounts_of(bd_accounts *as, const char *client); // `as` may be NULL

// ResourceExhausted, with the remedy, when more time was used than the client may: a minute of each processor
// at once, and what has come back since. For the beginning of a step.
braid_code bd_account_check_time(bd_account *a, braid_status *st);

// Takes bytes. False: they are more than the client may have; then nothing is taken.
bool bd_account_take(bd_account *a, size_t bytes);
void bd_account_give(bd_account *a, size_t bytes);

// The account of this thread; NULL: none.
extern _Thread_local bd_account *bd_account_current __attribute__((tls_model("initial-exec")));

// A stretch of work on this thread.
typedef struct bd_account_turn {
    bd_account *before;
    int64_t began_ns; // of the thread's time; -1: it is not measured
} bd_account_turn;

// `a` outlives the turn; NULL: none is current. Turns are left in the opposite order.
bd_account_turn bd_account_enter(bd_account *a);
void bd_account_leave(bd_account_turn turn);

// Adds to ResourceExhausted what the account of this thread has, when it has refused bytes since the last
// time.
void bd_account_explain(braid_status *st);

#endif
