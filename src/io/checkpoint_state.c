// Reads and writes the file that lists the checkpoints of a directory.
#include "io/checkpoint_state.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/clock.h"
#include "io/checkpoint.h"
#include "io/path.h"
#include "proto/text_format.h"
#include "tensorflow/python/training/checkpoint_state.pb-c.h"
#include <string.h>

#define DEFAULT_NAME "checkpoint"

// It has a line for each checkpoint.
#define BYTES_MAX ((size_t)64 << 20)

typedef Tensorflow__CheckpointState checkpoint_proto;

void bd_checkpoint_state_fini(bd_checkpoint_state *s)
{
    bd_free(s->latest);
    bd_free(s->times);
    bd_name_list_fini(&s->all);
    *s = (bd_checkpoint_state){0};
}

// ---- Reading ----

static char *from_dir(const char *dir, const char *prefix)
{
    return bd_path_is_absolute(prefix) ? bd_strdup(prefix) : bd_path_join(dir, prefix);
}

static void take(bd_checkpoint_state *s, const checkpoint_proto *p, const char *dir)
{
    s->latest = from_dir(dir, p->model_checkpoint_path);
    for (size_t i = 0; i < p->n_all_model_checkpoint_paths; i++)
        bd_array_push(&s->all, from_dir(dir, p->all_model_checkpoint_paths[i]));
    if (p->n_all_model_checkpoint_timestamps == s->all.len && s->all.len > 0)
        s->times = bd_memdup(p->all_model_checkpoint_timestamps, s->all.len * sizeof *s->times);
    s->last_preserved = p->last_preserved_timestamp;
}

static braid_code parse(const char *path, const char *dir, const char *text, size_t len,
                        bd_checkpoint_state *s, braid_status *st)
{
    ProtobufCMessage *m;
    braid_code code = bd_text_format_parse(&tensorflow__checkpoint_state__descriptor, text, len, &m, st);
    if (code == BRAID_INVALID_ARGUMENT) {
        BD_STATUS(why);
        bd_status_move(why, st);
        return bd_fail(st, BRAID_DATA_LOSS, "%s: %s", path, braid_status_message(why));
    }
    if (code) return bd_status_prefix(st, "%s: ", path);
    const checkpoint_proto *p = (const checkpoint_proto *)m;
    if (*p->model_checkpoint_path) {
        take(s, p, dir);
    } else {
        code = bd_fail(st, BRAID_DATA_LOSS, "Invalid checkpoint state loaded from %s: it names no checkpoint",
                       path);
    }
    protobuf_c_message_free_unpacked(m, NULL);
    return code;
}

braid_code bd_checkpoint_state_read(const bd_fs *fs, const char *dir, const char *name,
                                    bd_checkpoint_state *s, braid_status *st)
{
    char *path = bd_path_join(dir, name ? name : DEFAULT_NAME), *text;
    size_t len;
    *s = (bd_checkpoint_state){0};
    braid_code code = bd_file_read_all(fs, path, BYTES_MAX, &text, &len, st);
    if (!code) code = parse(path, dir, text, len, s, st);
    bd_free(text);
    bd_free(path);
    return code;
}

braid_code bd_checkpoint_latest(const bd_fs *fs, const char *dir, const char *name, char **prefix,
                                braid_status *st)
{
    bd_checkpoint_state s;
    *prefix = NULL;
    braid_code code = bd_checkpoint_state_read(fs, dir, name, &s, st);
    if (!code && !bd_checkpoint_exists(fs, s.latest))
        code = bd_fail(st, BRAID_NOT_FOUND, "Couldn't match files for checkpoint %s", s.latest);
    if (!code) {
        *prefix = s.latest;
        s.latest = NULL;
    }
    bd_checkpoint_state_fini(&s);
    return code;
}

// ---- Writing ----

static char *as_written(const char *prefix, const char *dir, bool relative)
{
    bool from_here = !bd_path_is_absolute(prefix) && !bd_path_is_absolute(dir);
    bool made_relative = relative && bd_path_is_absolute(prefix);
    return from_here || made_relative ? bd_path_relative(prefix, dir) : bd_strdup(prefix);
}

// Fills the message; free_proto frees all but the struct itself.
static void fill(checkpoint_proto *p, const char *dir, const bd_checkpoint_state *s, bool relative)
{
    size_t count = s->all.len;
    bool adds = count == 0 || strcmp(s->all.items[count - 1], s->latest) != 0;
    p->model_checkpoint_path = as_written(s->latest, dir, relative);
    p->all_model_checkpoint_paths = bd_malloc((count + 1) * sizeof *p->all_model_checkpoint_paths);
    for (size_t i = 0; i < count; i++)
        p->all_model_checkpoint_paths[i] = as_written(s->all.items[i], dir, relative);
    if (adds) p->all_model_checkpoint_paths[count] = bd_strdup(p->model_checkpoint_path);
    p->n_all_model_checkpoint_paths = count + adds;
    p->last_preserved_timestamp = s->last_preserved;
    if (!s->times) return;
    p->all_model_checkpoint_timestamps = bd_malloc((count + 1) * sizeof *s->times);
    if (count > 0) memcpy(p->all_model_checkpoint_timestamps, s->times, count * sizeof *s->times);
    p->all_model_checkpoint_timestamps[count] = (double)bd_wall_micros() * 1e-6;
    p->n_all_model_checkpoint_timestamps = count + adds;
}

static void free_proto(checkpoint_proto *p)
{
    bd_free(p->model_checkpoint_path);
    for (size_t i = 0; i < p->n_all_model_checkpoint_paths; i++)
        bd_free(p->all_model_checkpoint_paths[i]);
    bd_free(p->all_model_checkpoint_paths);
    bd_free(p->all_model_checkpoint_timestamps);
}

braid_code bd_checkpoint_state_write(const bd_fs *fs, const char *dir, const char *name,
                                     const bd_checkpoint_state *s, bool relative, braid_status *st)
{
    BD_ASSERT(s->latest);
    checkpoint_proto p = TENSORFLOW__CHECKPOINT_STATE__INIT;
    char *path = bd_path_join(dir, name ? name : DEFAULT_NAME);
    fill(&p, dir, s, relative);
    char *checkpoint = from_dir(dir, p.model_checkpoint_path);
    braid_code code;
    if (strcmp(checkpoint, path) == 0) {
        code =
            bd_fail(st, BRAID_INVALID_ARGUMENT,
                    "Save path '%s' conflicts with path used for checkpoint state.  Please use a different "
                    "save path.",
                    s->latest);
    } else {
        char *text = bd_text_format_print(&p.base);
        code = bd_file_write_atomic(fs, path, text, strlen(text), st);
        bd_free(text);
    }
    bd_free(checkpoint);
    free_proto(&p);
    bd_free(path);
    return code;
}
