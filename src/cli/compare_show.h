// Curves of several algorithms side by side.
#ifndef BD_CLI_COMPARE_SHOW_H
#define BD_CLI_COMPARE_SHOW_H

#include "curves.h"

typedef struct bd_compared {
    const bd_curve *curves; // [count]; those without points have failed and are left out
    size_t count;
    int workers;
    const char *dir; // exists
} bd_compared;

// Prints a table and writes DIR/curves.csv, DIR/loss.png and, to DIR/NAME, event files. Says on the standard
// error output what could not be written.
void bd_compare_show(const bd_compared *c);

#endif
