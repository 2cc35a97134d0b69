/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hints for the thread sanitizer: hand-overs that pass through glib.
 *
 * glib is not built with the sanitizer, so what its locks order looks
 * unordered. Who hands @p over through a glib source or queue says so with
 * tsan_release(), who takes it with tsan_acquire(). Nothing in other builds.
 *
 * Used by: all that attach sources for another thread. Uses: nothing.
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
#else
static inline void tsan_acquire(void *p)
{
    (void)p;
}

static inline void tsan_release(void *p)
{
    (void)p;
}
#endif

#endif /* QEMU_TSAN_H */
