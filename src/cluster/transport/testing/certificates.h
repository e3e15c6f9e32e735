// Certificates for tests, in a directory of their own: the authorities "ours" and "foreign", each with a viewer,
// a client and a task.
#ifndef BD_CLUSTER_TRANSPORT_CERTIFICATES_H
#define BD_CLUSTER_TRANSPORT_CERTIFICATES_H

// Set-up and teardown of a group of cmocka.
int bd_test_certificates_make(void **state);
int bd_test_certificates_remove(void **state);

// Returns the path of "ours/task" and the like. Valid until the eighth call after it.
const char *bd_test_certificates_dir(const char *holder);
// Copies a file, for its owner only, from the directory of one holder to that of another. Fails the test if
// it cannot.
void bd_test_certificates_copy(const char *from, const char *to, const char *name);

#endif
