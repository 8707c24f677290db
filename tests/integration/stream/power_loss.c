// Notes each fsync and fdatasync of a process in the file that SYNC_TRACE names:
//
//   DEVICE INODE BIRTH SIZE SECONDS.NANOSECONDS
//
// SIZE is that of the file just before the call: what is written meanwhile may not be on the disk.
// BIRTH tells files apart that have had the same inode, one after another.
// To be preloaded (LD_PRELOAD); see power_loss.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// When the file was made, in nanoseconds.
static long long birth_of(int folder, const char *path, int flags) {
    struct statx facts;
    if (statx(folder, path, flags, STATX_BTIME, &facts) != 0) abort();
    // Without it, files that have had one inode would be taken for one file.
    if (!(facts.stx_mask & STATX_BTIME)) abort();
    return facts.stx_btime.tv_sec * 1000000000LL + facts.stx_btime.tv_nsec;
}

long long birth(const char *path) { return birth_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW); }

static int synced(const char *name, int fd) {
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    const char *trace = getenv("SYNC_TRACE");
    struct stat before;
    int is_known = trace != NULL && fstat(fd, &before) == 0;
    long long born = is_known ? birth_of(fd, "", AT_EMPTY_PATH) : 0;
    // As a slow disk: meanwhile, the power may fail.
    if (is_known) usleep(15000);
    int result = original(fd);
    if (is_known && result == 0) {
        struct timespec now;
        char line[160];
        clock_gettime(CLOCK_REALTIME, &now);
        int length = snprintf(line, sizeof line, "%lu %lu %lld %lld %lld.%09ld\n",
                              (unsigned long)before.st_dev, (unsigned long)before.st_ino,
                              born, (long long)before.st_size, (long long)now.tv_sec,
                              now.tv_nsec);
        int out = open(trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (out < 0 || write(out, line, length) != length) abort();
        close(out);
    }
    return result;
}

int fsync(int fd) { return synced("fsync", fd); }

int fdatasync(int fd) { return synced("fdatasync", fd); }
