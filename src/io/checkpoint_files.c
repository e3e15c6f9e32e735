// Keeps the checkpoints of a directory: the public functions of <braid/checkpoint.h>.
#include <braid/checkpoint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/thread.h"
#include "io/checkpoint.h"
#include "io/checkpoint_state.h"
#include <ctype.h>
#include <string.h>

#define KEEP_DEFAULT 5
#define SECONDS_AN_HOUR 3600.0

char *braid_latest_checkpoint(const char *dir, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    char *prefix;
    bd_checkpoint_latest(bd_fs_current, dir, NULL, &prefix, st);
    return prefix;
}

bool braid_checkpoint_exists(const char *prefix)
{
    return bd_checkpoint_exists(bd_fs_current, prefix);
}

static braid_code remove_if_there(const char *path, braid_status *st)
{
    const braid_code code = bd_file_remove(bd_fs_current, path, st);
    if (code != BRAID_NOT_FOUND) return code;
    braid_status_clear(st);
    return BRAID_OK;
}

static size_t count_back(const char *text, size_t end, const char *of)
{
    size_t begin = end;
    while (begin > 0 && strchr(of, text[begin - 1]))
        begin--;
    return begin;
}

// The length of a prefix without the "-?????-of-00002" of V1 files, which share one .meta.
static size_t len_without_shards(const char *prefix)
{
    const size_t len = strlen(prefix), total = count_back(prefix, len, "0123456789");
    if (total == len || total < 4 || strncmp(prefix + total - 4, "-of-", 4) != 0) return len;
    const size_t shard = count_back(prefix, total - 4, "0123456789?");
    return shard < total - 4 && shard > 0 && prefix[shard - 1] == '-' ? shard - 1 : len;
}

static char *meta_path(const char *prefix)
{
    return bd_asprintf("%.*s.meta", (int)len_without_shards(prefix), prefix);
}

braid_code braid_checkpoint_remove(const char *prefix, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    braid_code code = bd_checkpoint_remove(bd_fs_current, prefix, st);
    char *meta = meta_path(prefix);
    if (!code) code = remove_if_there(meta, st);
    bd_free(meta);
    return code;
}

braid_code braid_checkpoint_write_meta(const char *prefix, const void *data, size_t len, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    char *path = bd_asprintf("%s.meta", prefix);
    const braid_code code = bd_file_write_atomic(bd_fs_current, path, data, len, st);
    bd_free(path);
    return code;
}

braid_code braid_checkpoint_make_dir(const char *dir, braid_status *status)
{
    BD_STATUS(unwanted);
    return bd_dir_make(bd_fs_current, dir, status ? status : unwanted);
}

// ---- The marker of a save in progress ----

// An empty file PREFIX.tempstate-save. Its name is durable before the checkpoint is whole, because the commit
// of a bundle syncs the directory. It is removed after the checkpoint has been listed, so a checkpoint with a
// marker that is not listed is one of a save that was interrupted.
//
// The save holds the lock of its marker. A marker whose lock can be taken is of a save that has ended; the
// files of the others are left alone. A save that finds the lock of its marker taken, by another save of its
// prefix or by a clean-up, goes on without.
#define MARKER ".tempstate-save"

typedef BD_ARRAY(bd_file *) file_list;

static bd_mutex marks_mu = BD_MUTEX_INIT;
static file_list marks; // guarded by marks_mu: the locked markers of this process

static void watch_forks(void *arg)
{
    (void)arg;
    bd_mutex_across_forks(&marks_mu);
}

braid_code braid_checkpoint_begin(const char *prefix, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    char *path = bd_asprintf("%s" MARKER, prefix), *dir = bd_path_dir(prefix);
    bd_file *file = NULL;
    braid_code code = bd_dir_make(bd_fs_current, dir, st);
    if (!code) code = bd_file_lock(bd_fs_current, path, true, &file, st);
    if (file) {
        static bd_once once = BD_ONCE_INIT;
        bd_once_run(&once, watch_forks, NULL);
        bd_mutex_lock(&marks_mu);
        bd_array_push(&marks, file);
        bd_mutex_unlock(&marks_mu);
    }
    bd_free(path);
    bd_free(dir);
    return code;
}

static bd_file *take_mark(const char *path)
{
    bd_file *found = NULL;
    bd_mutex_lock(&marks_mu);
    for (size_t i = 0; i < marks.len && !found; i++) {
        if (strcmp(marks.items[i]->path, path) != 0) continue;
        found = marks.items[i];
        marks.items[i] = marks.items[--marks.len];
    }
    if (marks.len == 0) bd_array_free(&marks);
    bd_mutex_unlock(&marks_mu);
    return found;
}

void braid_checkpoint_end(const char *prefix)
{
    BD_STATUS(ignored); // nothing was written to the marker
    char *path = bd_asprintf("%s" MARKER, prefix);
    bd_file_close(take_mark(path), ignored);
    bd_free(path);
}

static braid_code remove_marker(const char *prefix, braid_status *st)
{
    char *path = bd_asprintf("%s" MARKER, prefix);
    const braid_code code = remove_if_there(path, st);
    bd_free(path);
    return code;
}

static bool is_marker(const char *file)
{
    const size_t len = strlen(file), marker_len = strlen(MARKER);
    return len > marker_len && strcmp(file + len - marker_len, MARKER) == 0;
}

// ---- Keeping a number of them ----

static double now_seconds(void)
{
    return (double)bd_wall_micros() * 1e-6;
}

// Gives every listed checkpoint a time: a list without times is one of an older program.
static void give_times(bd_checkpoint_state *s)
{
    if (s->times) return;
    s->times = bd_malloc((s->all.len + 1) * sizeof *s->times);
    for (size_t i = 0; i < s->all.len; i++)
        s->times[i] = now_seconds();
}

static void forget(bd_checkpoint_state *s, size_t i)
{
    bd_free(s->all.items[i]);
    s->all.len--;
    memmove(&s->all.items[i], &s->all.items[i + 1], (s->all.len - i) * sizeof *s->all.items);
    memmove(&s->times[i], &s->times[i + 1], (s->all.len - i) * sizeof *s->times);
}

static void append(bd_checkpoint_state *s, const char *prefix)
{
    for (size_t i = 0; i < s->all.len; i++) // a checkpoint that is written again is the newest
        if (strcmp(s->all.items[i], prefix) == 0) forget(s, i--);
    bd_free(s->latest);
    s->latest = bd_strdup(prefix);
    bd_array_push(&s->all, bd_strdup(prefix));
    s->times = bd_realloc(s->times, s->all.len * sizeof *s->times);
    s->times[s->all.len - 1] = now_seconds();
}

// Takes the oldest off the list until the policy holds; those to remove are appended to `removed`.
static void apply_policy(bd_checkpoint_state *s, const braid_checkpoint_policy *policy, bd_name_list *removed)
{
    if (policy->max_to_keep < 0) return;
    const size_t keep = policy->max_to_keep ? (size_t)policy->max_to_keep : KEEP_DEFAULT;
    const double every = policy->keep_every_n_hours * SECONDS_AN_HOUR;
    while (s->all.len > keep) {
        const bool stays = every > 0 && s->times[0] > s->last_preserved + every;
        if (stays)
            s->last_preserved = s->times[0];
        else
            bd_array_push(removed, bd_strdup(s->all.items[0]));
        forget(s, 0);
    }
}

static braid_code remove_all(const bd_name_list *prefixes, braid_status *st)
{
    for (size_t i = 0; i < prefixes->len; i++) {
        const braid_code code = braid_checkpoint_remove(prefixes->items[i], st);
        if (code == BRAID_NOT_FOUND)
            braid_status_clear(st); // removed by hand
        else if (code)
            return code;
    }
    return BRAID_OK;
}

static braid_code read_state(const char *dir, bd_checkpoint_state *s, braid_status *st)
{
    const braid_code code = bd_checkpoint_state_read(bd_fs_current, dir, NULL, s, st);
    if (code != BRAID_NOT_FOUND) return code;
    braid_status_clear(st);
    return BRAID_OK;
}

braid_code braid_checkpoint_record(const char *prefix, const braid_checkpoint_policy *policy,
                                   braid_status *status)
{
    static const braid_checkpoint_policy defaults;
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    if (!policy) policy = &defaults;
    if (!bd_checkpoint_exists(bd_fs_current, prefix))
        return bd_fail(st, BRAID_NOT_FOUND, "Failed to find any matching files for %s", prefix);
    char *dir = bd_path_dir(prefix);
    bd_checkpoint_state s;
    bd_name_list removed = {0};
    braid_code code = read_state(dir, &s, st);
    if (!code) {
        give_times(&s);
        if (s.last_preserved == 0) s.last_preserved = s.all.len ? s.times[0] : now_seconds();
        append(&s, prefix);
        apply_policy(&s, policy, &removed);
        code = bd_checkpoint_state_write(bd_fs_current, dir, NULL, &s, policy->save_relative_paths, st);
    }
    if (!code) code = remove_marker(prefix, st);
    if (!code) code = remove_all(&removed, st);
    bd_checkpoint_state_fini(&s);
    bd_name_list_fini(&removed);
    bd_free(dir);
    return code;
}

// ---- What interrupted saves left ----

// The length of the digits of NAME-STEP in a file's name that begins with NAME; 0: it is no file of NAME.
static size_t step_len(const char *file, const char *name)
{
    const size_t len = strlen(name);
    if (strncmp(file, name, len) != 0 || file[len] != '-') return 0;
    size_t digits = 0;
    while (isdigit((unsigned char)file[len + 1 + digits]))
        digits++;
    return digits ? len + 1 + digits : 0;
}

static bool is_temporary(const char *after_prefix)
{
    return strncmp(after_prefix, "_temp_", 6) == 0 || strstr(after_prefix, ".tempstate");
}

static braid_code remove_tree(const char *path, braid_status *st)
{
    bd_file_info info;
    braid_code code = bd_file_get_info(bd_fs_current, path, &info, st);
    if (code || !info.is_dir) return code ? code : bd_file_remove(bd_fs_current, path, st);
    bd_name_list names;
    code = bd_dir_list(bd_fs_current, path, &names, st);
    for (size_t i = 0; i < names.len && !code; i++) { // a save writes no directories into its directory
        char *file = bd_path_join(path, names.items[i]);
        code = bd_file_remove(bd_fs_current, file, st);
        bd_free(file);
    }
    bd_name_list_fini(&names);
    return code ? code : bd_dir_remove(bd_fs_current, path, st);
}

// Files that are written whole beside the checkpoints, under a temporary name first.
static bool is_temporary_file_of_directory(const char *file)
{
    static const char *const names[] = {"checkpoint.tempstate", "graph.pbtxt.tempstate"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0) return true;
    return false;
}

static bool is_leftover(const char *dir, const char *file, const char *name)
{
    if (is_temporary_file_of_directory(file)) return true;
    const size_t len = step_len(file, name);
    if (!len) return false;
    if (is_temporary(file + len)) return true;
    if (strncmp(file + len, ".data-", 6) != 0 && strcmp(file + len, ".meta") != 0) return false;
    char *prefix = bd_asprintf("%s/%.*s", dir, (int)len, file);
    char *shards = bd_asprintf("%s-*-of-*", prefix);
    const bool is_orphan =
        !bd_checkpoint_exists(bd_fs_current, prefix) && !bd_checkpoint_exists(bd_fs_current, shards);
    bd_free(shards);
    bd_free(prefix);
    return is_orphan;
}

static bool is_listed(const bd_checkpoint_state *s, const char *prefix)
{
    const char *base = strrchr(prefix, '/');
    for (size_t i = 0; i < s->all.len; i++) {
        const char *listed = strrchr(s->all.items[i], '/');
        if (strcmp(listed ? listed + 1 : s->all.items[i], base ? base + 1 : prefix) == 0) return true;
    }
    return false;
}

// Removes the checkpoint of a save that was interrupted after it was whole, before it was listed.
static braid_code remove_unlisted(const char *dir, const char *file, const bd_checkpoint_state *s,
                                  braid_status *st)
{
    if (!is_marker(file)) return BRAID_OK;
    char *prefix = bd_asprintf("%s/%.*s", dir, (int)(strlen(file) - strlen(MARKER)), file);
    braid_code code = BRAID_OK;
    if (!is_listed(s, prefix)) code = braid_checkpoint_remove(prefix, st);
    bd_free(prefix);
    if (code != BRAID_NOT_FOUND) return code;
    braid_status_clear(st);
    return BRAID_OK;
}

static braid_code remove_leftover(const char *dir, const char *file, const bd_checkpoint_state *s,
                                  braid_status *st)
{
    braid_code code = remove_unlisted(dir, file, s, st);
    char *path = bd_path_join(dir, file);
    if (!code) code = remove_tree(path, st);
    bd_free(path);
    if (code != BRAID_NOT_FOUND) return code;
    braid_status_clear(st); // a save that has ended since the directory was listed renamed or removed it
    return BRAID_OK;
}

// ---- Which of them are of saves in progress ----

typedef struct saves {
    bd_name_list live; // NAME-STEP of the saves in progress
    file_list ended;   // markers of others, locked: no save takes their name until the clean-up is done
} saves;

static braid_code find_saves(const char *dir, const bd_name_list *files, saves *s, braid_status *st)
{
    for (size_t i = 0; i < files->len; i++) {
        const char *name = files->items[i];
        if (!is_marker(name)) continue;
        bd_file *file;
        char *path = bd_path_join(dir, name);
        const braid_code code = bd_file_lock(bd_fs_current, path, false, &file, st);
        bd_free(path);
        if (code == BRAID_NOT_FOUND) { // this save has just ended
            braid_status_clear(st);
        } else if (code) {
            return code;
        } else if (file) {
            bd_array_push(&s->ended, file);
        } else {
            bd_array_push(&s->live, bd_asprintf("%.*s", (int)(strlen(name) - strlen(MARKER)), name));
        }
    }
    return BRAID_OK;
}

static void free_saves(saves *s)
{
    for (size_t i = 0; i < s->ended.len; i++) {
        BD_STATUS(ignored);
        bd_file_close(s->ended.items[i], ignored);
    }
    bd_array_free(&s->ended);
    bd_name_list_fini(&s->live);
}

static bool is_in_progress(const saves *s, const char *file, const char *name)
{
    // Any of the saves may be writing the files of the directory.
    if (is_temporary_file_of_directory(file)) return s->live.len > 0;
    const size_t len = step_len(file, name);
    for (size_t i = 0; i < s->live.len; i++)
        if (strlen(s->live.items[i]) == len && strncmp(s->live.items[i], file, len) == 0) return true;
    return false;
}

braid_code braid_checkpoint_clean(const char *name, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    char *dir = bd_path_dir(name);
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    bd_checkpoint_state s = {0};
    bd_name_list files = {0};
    saves running = {0};
    braid_code code = bd_dir_list(bd_fs_current, dir, &files, st);
    if (!code) code = find_saves(dir, &files, &running, st);
    if (!code) code = read_state(dir, &s, st); // after: it lists the saves that have just ended
    for (size_t i = 0; i < files.len && !code; i++)
        if (is_leftover(dir, files.items[i], base) && !is_in_progress(&running, files.items[i], base))
            code = remove_leftover(dir, files.items[i], &s, st);
    if (code == BRAID_NOT_FOUND) { // no directory yet
        braid_status_clear(st);
        code = BRAID_OK;
    }
    bd_checkpoint_state_fini(&s);
    free_saves(&running);
    bd_name_list_fini(&files);
    bd_free(dir);
    return code;
}
