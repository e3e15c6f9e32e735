// The terminal as a screen.
#include "screen.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROWS_DEFAULT 24
#define COLUMNS_DEFAULT 80

#define ENTER "\033[?1049h\033[?25l" // the alternate screen, without a cursor
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

static bool write_all(const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = write(STDOUT_FILENO, data, len);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return true;
}

void bd_screen_open(bd_screen *s)
{
    s->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->before) == 0;
    if (s->has_keys) {
        struct termios keys = s->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    s->is_open = write_all(ENTER, strlen(ENTER));
}

void bd_screen_close(bd_screen *s)
{
    if (s->is_open) write_all(LEAVE, strlen(LEAVE));
    if (s->has_keys) tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
    s->is_open = s->has_keys = false;
}

static struct winsize size(void)
{
    struct winsize window = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || !window.ws_row || !window.ws_col)
        window = (struct winsize){.ws_row = ROWS_DEFAULT, .ws_col = COLUMNS_DEFAULT};
    return window;
}

bool bd_screen_has_colours(void)
{
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

void bd_screen_append_line(bd_strbuf *out, const bd_view_line *line, int columns, bool colours)
{
    static const char *const styles[] = {[BD_LINE_PLAIN] = "",
                                         [BD_LINE_HEAD] = "\033[1m",
                                         [BD_LINE_BAD] = "\033[31m",
                                         [BD_LINE_SLOW] = "\033[33m"};
    const char *style = colours ? styles[line->style] : "";
    bd_strbuf_append(out, style);
    const size_t len = strlen(line->text);
    bd_strbuf_append_n(out, line->text, columns && len > (size_t)columns ? (size_t)columns : len);
    if (*style) bd_strbuf_append(out, "\033[0m");
}

bool bd_screen_draw(const bd_screen *s, const bd_view_lines *lines)
{
    (void)s;
    const struct winsize window = size();
    const bool fits = lines->len <= window.ws_row, colours = bd_screen_has_colours();
    const size_t shown = fits ? lines->len : (size_t)window.ws_row - 1;
    bd_strbuf out = {0};
    bd_strbuf_append(&out, HOME);
    for (size_t i = 0; i < shown; i++) {
        if (i) bd_strbuf_append_char(&out, '\n');
        bd_screen_append_line(&out, &lines->items[i], window.ws_col, colours);
        bd_strbuf_append(&out, CLEAR_LINE);
    }
    if (!fits) bd_strbuf_appendf(&out, "\n(%zu more lines)" CLEAR_LINE, lines->len - shown);
    bd_strbuf_append(&out, CLEAR_BELOW);
    const bool is_there = write_all(out.data, out.len);
    bd_strbuf_fini(&out);
    return is_there;
}
