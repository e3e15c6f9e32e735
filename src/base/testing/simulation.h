// A platform of simulated time, where the seed decides which thread runs: whole clusters in one process, and
// the same seed does the same again.
//
// One thread runs at a time. At every lock of a mutex, and whenever it waits, the seed picks who goes on.
// Time stands still while somebody can run (but for the little that looking at the clock costs) and jumps to
// the next deadline when all wait, so that timeouts cost nothing. When all wait and nobody has a deadline,
// the program hangs: it says which threads there are and aborts.
#ifndef BD_BASE_TESTING_SIMULATION_H
#define BD_BASE_TESTING_SIMULATION_H

#include <stdint.h>

// Puts the platform in place, with the calling thread as its first. Once, before anything else of Braid is
// used: a program that runs several seeds forks for each. The program aborts when simulated time reaches
// `limit_ns`.
void bd_simulation_begin(uint64_t seed, int64_t limit_ns);

// A hash of the history: which threads ran in which order, and when.
uint64_t bd_simulation_history(void);

// Lets other threads run until this time has passed.
void bd_simulation_sleep(int64_t ns);

#endif
