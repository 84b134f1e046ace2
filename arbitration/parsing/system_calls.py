"""The system calls that a parser may make, by name, with their numbers on the two processors.

Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux. A test compares them
with the headers of the machine it runs on, where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Name -> number on x86-64 and on ARM64, None where the processor has no such call.
Numbers = Mapping[str, tuple[int | None, int | None]]

# fmt: off

#: Reading what is open, memory, threads of its own, clocks. The most frequent first: the filter is read in this order.
ALLOWED: Numbers = {
    "read": (0, 63), "futex": (202, 98), "madvise": (28, 233), "mmap": (9, 222), "munmap": (11, 215),
    "brk": (12, 214), "lseek": (8, 62), "fstat": (5, 80), "stat": (4, None), "newfstatat": (262, 79),
    "close": (3, 57), "write": (1, 64), "mprotect": (10, 226), "mremap": (25, 216), "pread64": (17, 67),
    "readv": (19, 65), "writev": (20, 66), "getdents64": (217, 61), "lstat": (6, None), "access": (21, None),
    "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78),
    "statx": (332, 291), "statfs": (137, 43), "fstatfs": (138, 44), "getcwd": (79, 17), "dup": (32, 23),
    "dup2": (33, None), "dup3": (292, 24), "close_range": (436, 436), "fadvise64": (221, 223), "umask": (95, 166),
    "mincore": (27, 232), "membarrier": (324, 283), "rseq": (334, 293), "set_robust_list": (273, 99),
    "get_robust_list": (274, 100), "set_tid_address": (218, 96), "arch_prctl": (158, None),
    "gettid": (186, 178), "getpid": (39, 172), "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158), "getresuid": (118, 148),
    "getresgid": (120, 150), "getpgrp": (111, None), "getpgid": (121, 155), "getsid": (124, 156), "capget": (125, 90),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136),
    "sigaltstack": (131, 132), "restart_syscall": (219, 128), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None),
    "times": (100, 153), "getitimer": (36, 102), "getrusage": (98, 165), "getrlimit": (97, 163), "sysinfo": (99, 179),
    "uname": (63, 160), "getrandom": (318, 278), "getcpu": (309, 168), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126), "getpriority": (140, 141),
    "get_mempolicy": (239, 236), "set_mempolicy": (238, 237), "mbind": (237, 235),
    "pipe": (22, None), "pipe2": (293, 59), "poll": (7, None), "ppoll": (271, 73),
    "select": (23, None), "pselect6": (270, 72), "epoll_create": (213, None), "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22), "eventfd2": (290, 19),
    "exit": (60, 93), "exit_group": (231, 94),
}

#: Allowed with some arguments only; :mod:`arbitration.parsing.seccomp` says which.
BOUNDED: Numbers = {
    "open": (2, None), "openat": (257, 56), "ioctl": (16, 29), "fcntl": (72, 25), "prctl": (157, 167),
    "clone": (56, 220), "prlimit64": (302, 261), "socket": (41, 198), "kill": (62, 129), "tgkill": (234, 131),
    "sendmsg": (46, 211), "sched_setaffinity": (203, 122),
}

#: What a library may try on its way, and does without: it is told that it may not.
REFUSED: Numbers = {
    "connect": (42, 203), "socketpair": (53, 199), "fork": (57, None), "vfork": (58, None), "execve": (59, 221),
    "execveat": (322, 281), "truncate": (76, 45), "ftruncate": (77, 46), "rename": (82, None), "renameat": (264, 38),
    "renameat2": (316, 276), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "creat": (85, None),
    "link": (86, None), "linkat": (265, 37), "unlink": (87, None), "unlinkat": (263, 35), "symlink": (88, None),
    "symlinkat": (266, 36), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54), "mknod": (133, None),
    "mknodat": (259, 33), "tkill": (200, 130), "utimensat": (280, 88), "setitimer": (38, 103),
    "setrlimit": (160, 164), "setpriority": (141, 140), "chdir": (80, 49), "fchdir": (81, 50), "setsid": (112, 157),
    "setpgid": (109, 154), "seccomp": (317, 277), "setuid": (105, 146), "setgid": (106, 144), "setresuid": (117, 147),
    "setresgid": (119, 149), "setgroups": (116, 159),
}

#: Their arguments cannot be looked at; libraries then take the older call.
TOO_NEW: Numbers = {"clone3": (435, 435), "openat2": (437, 437)}

#: No library that reads files makes these: whoever does has been taken over, and is ended on the spot.
FATAL: Numbers = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "kcmp": (312, 272), "move_pages": (279, 239), "migrate_pages": (256, 238), "bpf": (321, 280),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "perf_event_open": (298, 241), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fspick": (433, 433), "fsmount": (432, 432), "fsconfig": (431, 431),
    "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "open_by_handle_at": (304, 265), "fanotify_init": (300, 262), "reboot": (169, 142), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "swapon": (167, 224), "swapoff": (168, 225),
}
