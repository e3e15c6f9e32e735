// The files by which a training program tells `braid compare` and `braid plan` of its workers: the
// environment variable that asks for them, and their form.
#ifndef BD_BASE_CURVE_FILE_H
#define BD_BASE_CURVE_FILE_H

// The environment variable that names the directory of curves; without it none is written. Worker N writes
// DIR/worker-N.csv.
#define BD_CURVES_VARIABLE "BRAID_ALGORITHM_CURVES"

// The first line of a curve: seconds since 1970, gradients computed, updates, dropped gradients, bytes moved,
// seconds of waiting, mean staleness (all but the first since the start), and the mean loss since the last
// line.
#define BD_CURVE_COLUMNS "seconds,steps,updates,dropped,bytes,waiting,staleness,loss"
#define BD_CURVE_COLUMN_COUNT 8

#endif
