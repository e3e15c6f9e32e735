// Curves of training: the loss of an algorithm over steps, time and bytes, from the files of its workers.
#ifndef BD_CLI_CURVES_H
#define BD_CLI_CURVES_H

#include "base/array.h"
#include <stdint.h>

// The state of all workers at a time.
typedef struct bd_curve_point {
    double seconds; // since the first step
    double steps, updates, dropped, bytes;
    double waiting;   // seconds of all workers
    double staleness; // the mean of the workers'
    double loss;      // likewise
} bd_curve_point;

typedef struct bd_curve {
    char *name; // owned
    BD_ARRAY(bd_curve_point) points;
} bd_curve;

// Reads DIR/worker-0.csv and on (base/curve_file.h) and adds the points of all workers up, in the order
// of time. Returns NULL, or the text of the error, which the caller frees.
char *bd_curve_read(bd_curve *c, const char *dir, int workers);
void bd_curve_fini(bd_curve *c);

// The mean loss of the points around point i: a twentieth of all.
double bd_curve_smooth(const bd_curve *c, size_t i);
// The first point from which on the smooth loss is at most `loss`; the last one when there is none.
const bd_curve_point *bd_curve_reaches(const bd_curve *c, double loss);

#endif
