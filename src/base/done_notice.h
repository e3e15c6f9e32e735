// Tells the program that has started this process, and starts it again when it fails (`braid run`), that the
// work of the process's task is done: an exit code alone does not tell what was lost with the process.
#ifndef BD_BASE_DONE_NOTICE_H
#define BD_BASE_DONE_NOTICE_H

// Set for each task: "FD:INODE", a stream socket that the process inherits. The inode tells it from another
// file that has got the number. A line "done JOB/INDEX" is written to it.
#define BD_DONE_NOTICE_VARIABLE "BRAID_DONE_NOTICE"

// Keeps programs that this process executes from inheriting the socket. Call it when a server starts.
void bd_done_notice_keep(void);

// Writes the line. No effect without the variable.
void bd_done_notice_write(const char *job, int index);

// Takes the place of bd_done_notice_write in simulated clusters; NULL: none.
extern void (*bd_done_notice_taker)(const char *job, int index);

#endif
