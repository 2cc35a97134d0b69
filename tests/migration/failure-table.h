/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The failure table: what becomes of both sides if FAULT happens in STATE.
 * docs/devel/failures.rst shows the same rows (tests/style/check-failures.py
 * compares); test-failure-matrix.c walks them.
 *
 *     FAILURE(state, fault, source's status, guest at the source,
 *             the source says, target's end, the target says)
 *
 * Status `same`: nothing changes until the user cancels, both monitors answer
 * meanwhile, and then the source is `cancelled`; where all was handed over
 * (guest `paused`) it takes a second cancel. Guest: `runs`, or its run state,
 * or `-`. Target: `exit 1`, `runs` or `paused` (it got the guest), `loads` (it
 * waits for more bytes; gone after the cancel), `killed`, `-`. "" says nothing.
 *
 * A state may end in `-one-way` (no return path), `-paused` (the user stopped
 * the guest before it began), `-guest` (one runs, and writes; else there is
 * just memory).
 */
/* clang-format off */
FAILURE("connecting", "cut", "failed", "runs", "Failed to connect", "-", "")
FAILURE("connecting", "hold", "same", "runs", "", "-", "")

FAILURE("active", "kill-target", "failed", "runs", "target was lost", "killed", "")
FAILURE("active", "kill-source", "-", "-", "", "exit 1", "at byte")
FAILURE("active", "cut", "failed", "runs", "target was lost", "exit 1", "at byte")
FAILURE("active", "reset", "failed", "runs", "target was lost", "exit 1", "at byte")
FAILURE("active", "half-close", "failed", "runs", "the target could not load the guest", "exit 1", "at byte")
FAILURE("active", "hold", "same", "runs", "", "loads", "at byte")
FAILURE("active", "drop", "same", "runs", "", "loads", "at byte")
FAILURE("active", "user-timeout", "failed", "runs", "dead or does not read", "loads", "at byte")
FAILURE("active", "trickle", "completed", "-", "", "runs", "")

FAILURE("pre-switchover", "kill-target", "failed", "runs", "target was lost", "killed", "")
FAILURE("pre-switchover", "kill-source", "-", "-", "", "exit 1", "at byte")
FAILURE("pre-switchover", "cut", "failed", "runs", "target was lost", "exit 1", "at byte")
FAILURE("pre-switchover", "hold", "same", "runs", "", "loads", "at byte")

FAILURE("device", "kill-target", "failed", "runs", "target was lost", "killed", "")
FAILURE("device", "kill-source", "-", "-", "", "exit 1", "at byte")
FAILURE("device", "cut", "failed", "runs", "target was lost", "exit 1", "at byte")
FAILURE("device", "reset", "failed", "runs", "target was lost", "exit 1", "at byte")
FAILURE("device", "half-close", "failed", "runs", "the target could not load the guest", "exit 1", "at byte")
FAILURE("device", "hold", "same", "runs", "", "loads", "at byte")
FAILURE("device", "drop", "same", "paused", "", "loads", "at byte")
FAILURE("device", "trickle", "completed", "-", "", "runs", "")

FAILURE("handed-over", "kill-target", "failed", "paused", "did not say whether it runs the guest", "killed", "")
FAILURE("handed-over", "kill-source", "-", "-", "", "runs", "")
FAILURE("handed-over", "cut", "failed", "paused", "did not say whether it runs the guest", "exit 1", "at byte")
FAILURE("handed-over", "reset", "failed", "paused", "did not say whether it runs the guest", "exit 1", "at byte")
FAILURE("handed-over", "hold", "same", "paused", "", "loads", "at byte")
FAILURE("handed-over", "half-close", "failed", "runs", "the target could not load the guest", "exit 1", "at byte")
FAILURE("handed-over", "trickle", "completed", "-", "", "runs", "")

FAILURE("cancelling", "kill-target", "cancelled", "paused", "", "killed", "")
FAILURE("cancelling", "cut", "cancelled", "paused", "", "exit 1", "at byte")
FAILURE("cancelling", "half-close", "cancelled", "runs", "", "exit 1", "at byte")
FAILURE("cancelling", "pass", "completed", "-", "", "runs", "")

FAILURE("listening", "empty-connection", "-", "-", "", "exit 1", "at byte 0")
FAILURE("listening", "junk", "-", "-", "", "exit 1", "not a migration stream")
FAILURE("listening", "kill-target", "failed", "runs", "Failed to connect", "killed", "")

FAILURE("active-one-way", "kill-target", "failed", "runs", "Cannot write to", "killed", "")
FAILURE("active-one-way", "kill-source", "-", "-", "", "exit 1", "at byte")
FAILURE("active-one-way", "cut", "failed", "runs", "Cannot write to", "exit 1", "at byte")
FAILURE("active-one-way", "reset", "failed", "runs", "Cannot write to", "exit 1", "at byte")
FAILURE("active-one-way", "half-close", "failed", "runs", "Cannot write to", "exit 1", "at byte")
FAILURE("active-one-way", "hold", "same", "runs", "", "loads", "at byte")
FAILURE("active-one-way", "drop", "completed", "postmigrate", "", "loads", "at byte")
FAILURE("active-one-way", "user-timeout", "failed", "runs", "dead or does not read", "loads", "at byte")
FAILURE("active-one-way", "trickle", "completed", "-", "", "runs", "")

FAILURE("pre-switchover-one-way", "kill-target", "same", "runs", "", "killed", "")
FAILURE("pre-switchover-one-way", "kill-source", "-", "-", "", "exit 1", "at byte")
FAILURE("pre-switchover-one-way", "cut", "same", "runs", "", "exit 1", "at byte")
FAILURE("pre-switchover-one-way", "hold", "same", "runs", "", "loads", "at byte")

FAILURE("device-one-way", "kill-target", "failed", "runs", "Cannot write to", "killed", "")
FAILURE("device-one-way", "kill-source", "-", "-", "", "exit 1", "at byte")
FAILURE("device-one-way", "cut", "failed", "runs", "Cannot write to", "exit 1", "at byte")
FAILURE("device-one-way", "reset", "failed", "runs", "Cannot write to", "exit 1", "at byte")
FAILURE("device-one-way", "half-close", "failed", "runs", "Cannot write to", "exit 1", "at byte")
FAILURE("device-one-way", "hold", "same", "runs", "", "loads", "at byte")
FAILURE("device-one-way", "drop", "completed", "postmigrate", "", "loads", "at byte")
FAILURE("device-one-way", "trickle", "completed", "-", "", "runs", "")

FAILURE("handed-over-one-way", "kill-target", "completed", "postmigrate", "", "killed", "")
FAILURE("handed-over-one-way", "kill-source", "-", "-", "", "runs", "")
FAILURE("handed-over-one-way", "cut", "completed", "postmigrate", "", "exit 1", "at byte")
FAILURE("handed-over-one-way", "reset", "completed", "postmigrate", "", "exit 1", "at byte")
FAILURE("handed-over-one-way", "half-close", "completed", "postmigrate", "", "exit 1", "at byte")
FAILURE("handed-over-one-way", "hold", "completed", "postmigrate", "", "loads", "at byte")
FAILURE("handed-over-one-way", "trickle", "completed", "-", "", "runs", "")

FAILURE("active-paused", "kill-target", "failed", "paused", "target was lost", "killed", "")
FAILURE("active-paused", "kill-source", "-", "-", "", "exit 1", "at byte")
FAILURE("active-paused", "cut", "failed", "paused", "target was lost", "exit 1", "at byte")
FAILURE("active-paused", "hold", "same", "paused", "", "loads", "at byte")
FAILURE("active-paused", "trickle", "completed", "-", "", "paused", "")
FAILURE("pre-switchover-paused", "cut", "failed", "paused", "target was lost", "exit 1", "at byte")
FAILURE("device-paused", "cut", "failed", "paused", "target was lost", "exit 1", "at byte")
FAILURE("handed-over-paused", "cut", "failed", "paused", "did not say whether it runs the guest", "exit 1", "at byte")
FAILURE("handed-over-paused", "kill-source", "-", "-", "", "paused", "")

FAILURE("active-guest", "kill-target", "failed", "runs", "target was lost", "killed", "")
FAILURE("active-guest", "kill-source", "-", "-", "", "exit 1", "at byte")
FAILURE("active-guest", "cut", "failed", "runs", "target was lost", "exit 1", "at byte")
FAILURE("active-guest", "hold", "same", "runs", "", "loads", "at byte")
FAILURE("pre-switchover-guest", "cut", "failed", "runs", "target was lost", "exit 1", "at byte")
FAILURE("device-guest", "kill-target", "failed", "runs", "target was lost", "killed", "")
FAILURE("device-guest", "cut", "failed", "runs", "target was lost", "exit 1", "at byte")
FAILURE("device-guest", "hold", "same", "runs", "", "loads", "at byte")
FAILURE("device-guest", "trickle", "completed", "-", "", "runs", "")
/* clang-format on */
