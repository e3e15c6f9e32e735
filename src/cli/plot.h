// Line plots as PNG files.
#ifndef BD_CLI_PLOT_H
#define BD_CLI_PLOT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bd_plot_line {
    const char *name;
    const double *x, *y; // [count], finite
    size_t count;
} bd_plot_line;

typedef struct bd_plot_panel {
    const char *title, *x_label, *y_label;
    bool log_x, log_y;         // values that are not positive are left out
    const bd_plot_line *lines; // [count]
    int count;
} bd_plot_panel;

// Draws panels side by side, with one legend, which names the lines of the first panel. Returns NULL, or the
// text of the error, which the caller frees. Needs the library cairo (Debian: libcairo2) on this machine.
char *bd_plot_png(const char *path, const bd_plot_panel *panels, int count);

#endif
