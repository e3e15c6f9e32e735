// The geometry of several neighbouring diagonals of matrices, for MatrixDiagV2, MatrixDiagPartV2,
// MatrixSetDiagV2 and V3.
//
// Diagonal 0 is the main one, those above it count up and those below down. A band of several is a matrix
// whose first row is the highest one. Its rows are as long as the longest diagonal: the shorter ones begin at
// the left, or (V3, by attr `align`) end at the right.
#ifndef BD_OPS_LINALG_DIAGONALS_H
#define BD_OPS_LINALG_DIAGONALS_H

#include "graph/graph.h"

typedef struct bd_band {
    int64_t lower, upper;
    int64_t rows, columns, length; // of the matrices; of the longest diagonal
    bool above_left, below_left;   // whether diagonals above (and below) the main one begin at the left
} bd_band;

static inline int64_t bd_band_count(const bd_band *b)
{
    return b->upper - b->lower + 1;
}

// Reads attr `align`; without one all begin at the left.
void bd_band_align(bd_band *b, const braid_op *node);
bool bd_band_starts_left(const bd_band *b, int64_t d);

// How long diagonal `d` is (0 or less when it lies outside), and the longest of all.
int64_t bd_band_length_of(const bd_band *b, int64_t d);
int64_t bd_band_longest(const bd_band *b);

// Works out how large the matrices are that have diagonals of this length: as given, or (-1) as small as can
// be, square if nothing is given. Returns what is wrong with it; NULL when it fits.
const char *bd_band_size(bd_band *b, int64_t rows, int64_t columns);

// The shape of the diagonals of matrices of a shape.
braid_shape bd_band_shape(const bd_band *b, const braid_shape *matrices);
// The shape of the matrices that have diagonals of a shape. False when there are too many dimensions.
bool bd_band_matrices(const bd_band *b, const braid_shape *diagonals, braid_shape *out);

#endif
