/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptions of device sections as QEMU 11.1.3 wrote them at the end of its
 * streams: data to compare ours with, byte by byte.
 *
 * Used by: test-vmstate.c.
 */
#ifndef TESTS_VMDESC_SAMPLES_H
#define TESTS_VMDESC_SAMPLES_H

static const char sample_timer[] =
    "{\"name\": \"timer\", \"instance_id\": 0, \"vmsd_name\": \"timer\", \"version\":"
    " 2, \"fields\": [{\"name\": \"cpu_ticks_offset\", \"type\": \"int64\", \"size\":"
    " 8}, {\"name\": \"unused\", \"type\": \"unused_buffer\", \"size\": 8}, {\"name\""
    ": \"cpu_clock_offset\", \"type\": \"int64\", \"size\": 8}]}";

static const char sample_pl011[] =
    "{\"name\": \"pl011\", \"instance_id\": 0, \"vmsd_name\": \"pl011\", \"version\":"
    " 2, \"fields\": [{\"name\": \"unused\", \"type\": \"unused_buffer\", \"size\": 4"
    "}, {\"name\": \"flags\", \"type\": \"uint32\", \"size\": 4}, {\"name\": \"lcr\", \""
    "type\": \"uint32\", \"size\": 4}, {\"name\": \"rsr\", \"type\": \"uint32\", \"size"
    "\": 4}, {\"name\": \"cr\", \"type\": \"uint32\", \"size\": 4}, {\"name\": \"dmacr\""
    ", \"type\": \"uint32\", \"size\": 4}, {\"name\": \"int_enabled\", \"type\": \"uin"
    "t32\", \"size\": 4}, {\"name\": \"int_level\", \"type\": \"uint32\", \"size\": 4}"
    ", {\"name\": \"read_fifo\", \"array_len\": 16, \"type\": \"uint32\", \"size\": 4"
    "}, {\"name\": \"ilpr\", \"type\": \"uint32\", \"size\": 4}, {\"name\": \"ibrd\", \""
    "type\": \"uint32\", \"size\": 4}, {\"name\": \"fbrd\", \"type\": \"uint32\", \"siz"
    "e\": 4}, {\"name\": \"ifl\", \"type\": \"uint32\", \"size\": 4}, {\"name\": \"read"
    "_pos\", \"type\": \"int32\", \"size\": 4}, {\"name\": \"read_count\", \"type\": \""
    "int32\", \"size\": 4}, {\"name\": \"read_trigger\", \"type\": \"int32\", \"size\""
    ": 4}], \"subsections\": [{\"vmsd_name\": \"pl011/clock\", \"version\": 1, \"f"
    "ields\": [{\"name\": \"clk\", \"type\": \"struct\", \"struct\": {\"vmsd_name\": \""
    "clock\", \"version\": 0, \"fields\": [{\"name\": \"period\", \"type\": \"uint64\""
    ", \"size\": 8}]}, \"size\": 8}]}]}";

static const char sample_gpex[] =
    "{\"name\": \"0000:00:00.0/gpex_root\", \"instance_id\": 0, \"vmsd_name\": \"g"
    "pex_root\", \"version\": 1, \"fields\": [{\"name\": \"parent_obj\", \"type\": \""
    "struct\", \"struct\": {\"vmsd_name\": \"PCIDevice\", \"version\": 2, \"fields\""
    ": [{\"name\": \"version_id\", \"type\": \"int32 le\", \"size\": 4}, {\"name\": \""
    "config[0]\", \"type\": \"pci config\", \"size\": 256}, {\"name\": \"irq_state\""
    ", \"type\": \"pci irq state\", \"size\": 16}]}, \"size\": 276}]}";

static const char sample_pcibus[] =
    "{\"name\": \"PCIBUS\", \"instance_id\": 0, \"vmsd_name\": \"PCIBUS\", \"version"
    "\": 1, \"fields\": [{\"name\": \"nirq\", \"type\": \"int32 equal\", \"size\": 4},"
    " {\"name\": \"irq_count\", \"array_len\": 4, \"type\": \"int32\", \"size\": 4}]}";

static const char sample_gpio_key[] =
    "{\"name\": \"gpio-key\", \"instance_id\": 0, \"vmsd_name\": \"gpio-key\", \"ver"
    "sion\": 1, \"fields\": [{\"name\": \"timer\", \"type\": \"timer\", \"size\": 8}]}";

static const char sample_fw_cfg[] =
    "{\"name\": \"fw_cfg\", \"instance_id\": 0, \"vmsd_name\": \"fw_cfg\", \"version"
    "\": 2, \"fields\": [{\"name\": \"cur_entry\", \"type\": \"uint16\", \"size\": 2},"
    " {\"name\": \"cur_offset[1]\", \"type\": \"uint32\", \"size\": 4}], \"subsectio"
    "ns\": [{\"vmsd_name\": \"fw_cfg/dma\", \"version\": 0, \"fields\": [{\"name\": "
    "\"dma_addr\", \"type\": \"uint64\", \"size\": 8}]}, {\"vmsd_name\": \"fw_cfg/ac"
    "pi_mr\", \"version\": 1, \"fields\": [{\"name\": \"table_mr_size\", \"type\": \""
    "uint64\", \"size\": 8}, {\"name\": \"linker_mr_size\", \"type\": \"uint64\", \"s"
    "ize\": 8}, {\"name\": \"rsdp_mr_size\", \"type\": \"uint64\", \"size\": 8}]}]}";

static const char sample_globalstate[] =
    "{\"name\": \"globalstate\", \"instance_id\": 0, \"vmsd_name\": \"globalstate\""
    ", \"version\": 1, \"fields\": [{\"name\": \"size\", \"type\": \"uint32\", \"size\""
    ": 4}, {\"name\": \"runstate\", \"type\": \"buffer\", \"size\": 32}, {\"name\": \""
    "has_vm_was_suspended\", \"type\": \"uint8\", \"size\": 1}, {\"name\": \"vm_was"
    "_suspended\", \"type\": \"uint8\", \"size\": 1}, {\"name\": \"unused\", \"type\":"
    " \"buffer\", \"size\": 66}]}";

static const char sample_gic[] =
    "{\"name\": \"arm_gic\", \"instance_id\": 0, \"vmsd_name\": \"arm_gic\", \"versi"
    "on\": 12, \"fields\": [{\"name\": \"ctlr\", \"type\": \"uint32\", \"size\": 4}, {"
    "\"name\": \"cpu_ctlr\", \"array_len\": 8, \"type\": \"uint32\", \"size\": 4}, {\""
    "name\": \"irq_state\", \"array_len\": 1020, \"type\": \"struct\", \"struct\": {"
    "\"vmsd_name\": \"arm_gic_irq_state\", \"version\": 1, \"fields\": [{\"name\": "
    "\"enabled\", \"type\": \"uint8\", \"size\": 1}, {\"name\": \"pending\", \"type\": "
    "\"uint8\", \"size\": 1}, {\"name\": \"active\", \"type\": \"uint8\", \"size\": 1},"
    " {\"name\": \"level\", \"type\": \"uint8\", \"size\": 1}, {\"name\": \"model\", \"t"
    "ype\": \"bool\", \"size\": 1}, {\"name\": \"edge_trigger\", \"type\": \"bool\", \""
    "size\": 1}, {\"name\": \"group\", \"type\": \"uint8\", \"size\": 1}]}, \"size\": "
    "7}, {\"name\": \"irq_target\", \"array_len\": 1020, \"type\": \"uint8\", \"size"
    "\": 1}, {\"name\": \"priority1\", \"array_len\": 256, \"type\": \"uint8\", \"siz"
    "e\": 1}, {\"name\": \"priority2\", \"array_len\": 988, \"type\": \"uint8\", \"si"
    "ze\": 1}, {\"name\": \"sgi_pending\", \"array_len\": 128, \"type\": \"uint8\", "
    "\"size\": 1}, {\"name\": \"priority_mask\", \"array_len\": 8, \"type\": \"uint1"
    "6\", \"size\": 2}, {\"name\": \"running_priority\", \"array_len\": 8, \"type\":"
    " \"uint16\", \"size\": 2}, {\"name\": \"current_pending\", \"array_len\": 8, \""
    "type\": \"uint16\", \"size\": 2}, {\"name\": \"bpr\", \"array_len\": 8, \"type\":"
    " \"uint8\", \"size\": 1}, {\"name\": \"abpr\", \"array_len\": 8, \"type\": \"uint"
    "8\", \"size\": 1}, {\"name\": \"apr\", \"array_len\": 32, \"type\": \"uint32\", \""
    "size\": 4}, {\"name\": \"nsapr\", \"array_len\": 32, \"type\": \"uint32\", \"siz"
    "e\": 4}]}";

static const char sample_slirp[] =
    "{\"name\": \"slirp\", \"instance_id\": 0, \"size\": 131, \"fields\": [{\"name\":"
    " \"data\", \"size\": 131, \"type\": \"buffer\"}]}";

#endif /* TESTS_VMDESC_SAMPLES_H */
