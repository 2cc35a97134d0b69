/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thread-safety attributes: lock rules that clang checks (-Wthread-safety).
 *
 * Other compilers see nothing. TSA_NO_CHECK is for the few functions whose
 * locking the analysis cannot follow; each use says why.
 *
 * Used by: all headers with locks. Uses: nothing.
 */
#ifndef QEMU_TSA_H
#define QEMU_TSA_H

#ifdef __clang__
#define TSA(x) __attribute__((x))
#else
#define TSA(x)
#endif

#define TSA_CAPABILITY(x)      TSA(capability(x))
#define TSA_GUARDED_BY(...)    TSA(guarded_by(__VA_ARGS__))
#define TSA_PT_GUARDED_BY(...) TSA(pt_guarded_by(__VA_ARGS__))
#define TSA_REQUIRES(...)      TSA(requires_capability(__VA_ARGS__))
#define TSA_EXCLUDES(...)      TSA(locks_excluded(__VA_ARGS__))
#define TSA_ACQUIRE(...)       TSA(acquire_capability(__VA_ARGS__))
#define TSA_RELEASE(...)       TSA(release_capability(__VA_ARGS__))
#define TSA_TRY_ACQUIRE(...)   TSA(try_acquire_capability(__VA_ARGS__))
#define TSA_ASSERT(...)        TSA(assert_capability(__VA_ARGS__))
#define TSA_NO_CHECK           TSA(no_thread_safety_analysis)

#endif /* QEMU_TSA_H */
