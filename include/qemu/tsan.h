/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hints for the thread sanitizer: hand-overs that pass through glib, and
 * guest memory.
 *
 * glib is not built with the sanitizer, so what its locks order looks
 * unordered. Who hands @p over through a glib source or queue says so with
 * tsan_release(), who takes it with tsan_acquire(). Nothing in other builds.
 *
 * Guest memory is read for sending while the guest writes to it: any mixture
 * of old and new may be seen, and whoever reads has made sure that the change
 * will be noticed. Such reads are put between tsan_ignore_reads_begin() and
 * _end() (system calls), or in a TSAN_UNCHECKED function.
 *
 * Used by: all that attach sources for another thread, or send guest memory.
 * Uses: nothing.
 */
#ifndef QEMU_TSAN_H
#define QEMU_TSAN_H

#if defined(__SANITIZE_THREAD__)
#define QEMU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define QEMU_TSAN 1
#endif
#endif

#ifdef QEMU_TSAN
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);

static inline void tsan_acquire(void *p)
{
    __tsan_acquire(p);
}

static inline void tsan_release(void *p)
{
    __tsan_release(p);
}

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

static inline void tsan_ignore_reads_begin(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
}

static inline void tsan_ignore_reads_end(void)
{
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

#define TSAN_UNCHECKED __attribute__((no_sanitize("thread")))
#else
static inline void tsan_acquire(void *p)
{
    (void)p;
}

static inline void tsan_release(void *p)
{
    (void)p;
}

static inline void tsan_ignore_reads_begin(void)
{
}

static inline void tsan_ignore_reads_end(void)
{
}

#define TSAN_UNCHECKED
#endif

#endif /* QEMU_TSAN_H */
