// The terminal as a screen that is drawn again and again, and given back as it was.
#ifndef BD_CLI_SCREEN_H
#define BD_CLI_SCREEN_H

#include "base/strbuf.h"
#include "cluster_view.h"
#include <stdbool.h>
#include <termios.h>

typedef struct bd_screen {
    bool is_open, has_keys; // has_keys: the standard input is this terminal
    struct termios before;
} bd_screen;

// Takes the terminal of the standard output: the alternate screen, and keys without Enter.
void bd_screen_open(bd_screen *s);
// Gives it back; nothing when it is not open.
void bd_screen_close(bd_screen *s);

// Draws the lines from the top, as many as fit, each cut at the right margin. False: the terminal is gone.
bool bd_screen_draw(const bd_screen *s, const bd_view_lines *lines);

// Whether colours are wanted on the standard output: it is a terminal, and NO_COLOR is not set.
bool bd_screen_has_colours(void);
// Writes a line, cut at `columns` (0: not cut), in the colours of its style if wanted.
void bd_screen_append_line(bd_strbuf *out, const bd_view_line *line, int columns, bool colours);

#endif
