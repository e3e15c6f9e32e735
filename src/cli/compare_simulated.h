// Algorithms compared on simulated clusters of 1 to 1,000 workers.
#ifndef BD_CLI_COMPARE_SIMULATED_H
#define BD_CLI_COMPARE_SIMULATED_H

#include "cluster_model.h"

// Simulates each of the algorithms [count], known by name, on `ps` parameter servers, and a small problem
// that they train (simulated_training.h). Prints steps a second, waiting time, staleness and the time to a
// loss, and draws them over the number of workers to DIR/simulated.png; shows the losses of 10, 100 and 1,000
// workers (compare_show.h) in DIR/workers-N. Returns NULL, or the text of an error, which the caller frees.
char *bd_compare_simulated(const bd_cluster_costs *costs, const char *const *algorithms, int count, int ps,
                           const char *dir);

#endif
