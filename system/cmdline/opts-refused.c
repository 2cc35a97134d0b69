/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of QEMU that people look for here, with the reason why they are
 * refused: "invalid option" alone would not say whether there is another way.
 * docs/using.rst lists them.
 */
#include "qemu/osdep.h"

#include "cmdline.h"

#define NO_NETWORK "there are no network devices"
#define NO_BLOCK   "there is no block layer: -drive or -hda give the boot disk"
#define NO_DISPLAY "there are no displays"
#define NO_USB     "there is no USB"
#define NO_GDB     "there is no server for debuggers"
#define NO_NUMA    "all memory is one node"

const CmdRefusal opts_refused[] = {
    { "netdev", NO_NETWORK },
    { "blockdev", NO_BLOCK },
    { "cdrom", NO_BLOCK },
    { "fda", NO_BLOCK },
    { "hdb", NO_BLOCK },
    { "pflash", "there is no flash memory: -bios gives firmware" },
    { "mtdblock", "there is no flash memory: -bios gives firmware" },
    { "sd", NO_BLOCK },
    { "vnc", NO_DISPLAY },
    { "spice", NO_DISPLAY },
    { "full-screen", NO_DISPLAY },
    { "usb", NO_USB },
    { "usbdevice", NO_USB },
    { "gdb", NO_GDB },
    { "s", NO_GDB },
    { "icount", "guest time follows the host's clock" },
    { "semihosting", "guests cannot call the host" },
    { "semihosting-config", "guests cannot call the host" },
    { "numa", NO_NUMA },
    { "smbios", "there are no SMBIOS tables" },
    { "fw_cfg", "there is no fw_cfg device" },
    { "acpitable", "the machine's own ACPI tables are all there are" },
    { "tpmdev", "there is no TPM" },
    { "fsdev", "there are no shared folders" },
    { "virtfs", "there are no shared folders" },
    { "watchdog-action", "there is no watchdog" },
    { "plugin", "there are no plugins" },
    { "readconfig", "there are no configuration files" },
    { "preconfig", "there is no such state: everything is an option" },
    { "loadvm", "there are no snapshots; -incoming file:PATH loads a state" },
    { "overcommit", "-object memory-backend-ram,prealloc=on populates memory" },
    { "mem-path", "-object memory-backend-file does this" },
    { "mem-prealloc", "-object memory-backend-ram,prealloc=on does this" },
    { "action", "-no-reboot and -no-shutdown do this" },
    { "runas", "-run-with does this" },
    { "chroot", "-run-with does this" },
    { "enable-fips", "there is no cryptography" },
    { NULL, NULL },
};
