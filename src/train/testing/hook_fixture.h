// For tests of hooks: a directory, the lines of the log with a given word, and what is in event files.
#ifndef BD_TRAIN_TESTING_HOOK_FIXTURE_H
#define BD_TRAIN_TESTING_HOOK_FIXTURE_H

#include "base/strbuf.h"
#include "train/testing/small_model.h"

extern char *hook_dir;     // empty at the start of each test
extern bd_strbuf hook_log; // since hook_expect_log

int hook_set_up(void **state);
int hook_tear_down(void **state);

// From now on hook_log gets the lines that contain `word`.
void hook_expect_log(const char *word);

// Makes so many steps, which succeed.
void hook_train(braid_monitored_session *s, const small_model *m, int steps);

// Whether event files of the directory contain a text. They hold tags as they are.
bool hook_is_in_events(const char *text);
// Whether the directory has the file.
bool hook_has_file(const char *name);

#endif
