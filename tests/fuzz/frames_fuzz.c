// Fuzzes the frames between `braid run` and its agents: any bytes are frames or refused, and what a frame
// holds is read within its content.
#include "base/check.h"
#include "cli/frames.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_content(const bd_frame *f)
{
    bd_start start;
    const char *name, *content;
    size_t len;
    BD_ASSERT(bd_frame_number(f) >= -1);
    if (bd_frame_read_file(f, &name, &content, &len))
        BD_ASSERT(strlen(name) + 1 + len == f->len && content + len == f->data + f->len);
    if (!bd_start_read(f, &start)) return;
    BD_ASSERT(start.directory && start.program && start.argc >= 0 && start.variable_count >= 0);
    for (int i = 0; i < start.argc; i++)
        BD_ASSERT(start.argv[i] >= f->data && start.argv[i] < f->data + f->len);
    bd_start_fini(&start);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bd_byte_queue q = {0};
    bd_frame f;
    bd_strbuf_append_n(&q.data, (const char *)data, size);
    while (bd_frame_next(&q, &f) == 1) // ends with the bytes
        read_content(&f);
    bd_byte_queue_fini(&q);
    return 0;
}
