// Temporary directories for tests that use the real disk, and whole files in them.
#ifndef BD_IO_TESTING_TEMP_DIR_H
#define BD_IO_TESTING_TEMP_DIR_H

#include <stddef.h>

char *bd_temp_dir_new(void);       // its path
void bd_temp_dir_free(char *path); // with all that is in it

// Fail the test when they fail. bd_test_read gives the caller's memory (bd_free).
void bd_test_write(const char *path, const void *data, size_t len);
char *bd_test_read(const char *path, size_t *len);

#endif
