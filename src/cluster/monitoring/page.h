// The page that shows a task in a browser: page.html, which is part of the program.
#ifndef BD_CLUSTER_MONITORING_PAGE_H
#define BD_CLUSTER_MONITORING_PAGE_H

#include <stddef.h>
#include <stdint.h>

// Made by the build.
extern const uint8_t bd_monitoring_page[];
extern const size_t bd_monitoring_page_len;

// The Content-Security-Policy of the page (bd_free): its own script and style, by their hashes, and calls of
// this server; nothing else.
char *bd_monitoring_page_policy(void);

#endif
