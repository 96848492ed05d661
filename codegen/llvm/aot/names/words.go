package names

import (
	"strings"
	"sync"
)

// set is the set of some words, made when it is asked for: few programs make libraries.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for _, w := range strings.Fields(words) {
			out[w] = true
		}
		return out
	})
}

// cFamilies are the words that names of C, of POSIX and of the system's C library begin with, and healc's own.
var cFamilies = set(`heal aio argp argz atomic authdes backtrace clnt cnd epoll envz fmaximum fminimum fts fts64 gai inet inet6
	inotify mq mtx ns ntp obstack pidfd pkey pmap posix pthread res sched sem shm svc svcerr svcudp thrd timerfd
	tss xdr xdrmem xdrrec xdrstdio xprt`)

// cNames are the names of C, C++ and POSIX with an underscore in them whose first word is no family.
var cNames = set(`aligned_alloc and_eq arc4random_buf arc4random_uniform arch_prctl authnone_create authunix_create
	authunix_create_default bind_textdomain_codeset bsd_signal call_once canonicalize_file_name cbc_crypt
	clntraw_create clnttcp_create clntudp_bufcreate clntudp_create clntunix_create clock_adjtime
	clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime close_range co_await co_return
	co_yield const_cast copy_file_range create_module delete_module des_setparity dl_iterate_phdr dn_comp
	dn_expand dn_skipname dynamic_cast ecb_crypt error_at_line error_message_count error_one_per_line
	error_print_progname ether_aton ether_aton_r ether_hostton ether_line ether_ntoa ether_ntoa_r ether_ntohost
	eventfd_read eventfd_write explicit_bzero fanotify_init fanotify_mark fd_set get_avphys_pages
	get_current_dir_name get_kernel_syms get_myaddress get_nprocs get_nprocs_conf get_phys_pages getaddrinfo_a
	getdate_err getopt_long getopt_long_only glob_pattern_p gnu_dev_major gnu_dev_makedev gnu_dev_minor
	gnu_get_libc_release gnu_get_libc_version group_member h_errlist h_nerr iconv_close iconv_open
	if_freenameindex if_indextoname if_nameindex if_nametoindex in6addr_any in6addr_loopback in_addr_t in_port_t
	init_module int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t int_least32_t int_least64_t
	int_least8_t iruserok_af jmp_buf key_decryptsession key_decryptsession_pk key_encryptsession
	key_encryptsession_pk key_gendes key_get_conv key_secretkey_is_set key_setnet key_setsecret kill_dependency
	lio_listio lio_listio64 login_tty malloc_info malloc_stats malloc_trim malloc_usable_size math_errhandling
	max_align_t mcheck_check_all mcheck_pedantic memfd_create modify_ldt mount_setattr move_mount
	name_to_handle_at nl_langinfo nl_langinfo_l not_eq on_exit open_by_handle_at open_memstream open_tree
	open_wmemstream or_eq parse_printf_format pivot_root printf_size printf_size_info process_madvise
	process_mrelease process_vm_readv process_vm_writev program_invocation_name program_invocation_short_name
	query_module quick_exit rcmd_af re_comp re_compile_fastmap re_compile_pattern re_exec re_match re_match_2
	re_max_failures re_search re_search_2 re_set_registers re_set_syntax re_syntax_options
	register_printf_function register_printf_modifier register_printf_specifier register_printf_type
	reinterpret_cast remap_file_pages rexec_af rpc_createerr rresvport_af ruserok_af sa_family_t secure_getenv
	sigabbrev_np sigdescr_np static_assert static_cast strerrordesc_np strerrorname_np svcauthdes_stats
	svcfd_create svcraw_create svctcp_create svcunix_create svcunixfd_create sync_file_range sys_errlist
	sys_nerr sys_sigabbrev sys_siglist sysv_signal thread_local timer_create timer_delete timer_getoverrun
	timer_gettime timer_settime timespec_get timespec_getres tr_break transaction_safe transaction_safe_dynamic
	u_char u_int u_int16_t u_int32_t u_int64_t u_int8_t u_long u_quad_t u_short uint_fast16_t uint_fast32_t
	uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t uint_least64_t uint_least8_t xor_eq`)

// cEndings are functions whose name behind that of a library is a name of the C library too easily: strtok_r, size_t.
var cEndings = set("r l t unlocked")

// cHeaders are the headers of C, of C++ and of POSIX: one in a folder of headers would be found in their place.
var cHeaders = set(`aio aliases alloca ar argp argz arpa assert byteswap complex cpio crypt ctype dirent dlfcn elf endian envz
	err errno error execinfo fcntl features features-time64 fenv float fmtmsg fnmatch fpu_control fstab fts ftw gconv getopt glob
	gnu-versions grp gshadow iconv ieee754 ifaddrs inttypes iso646 langinfo lastlog libgen libintl limits link locale
	malloc math mcheck memory mntent monetary mqueue ndbm netdb nl_types nss obstack paths poll printf proc_service
	pthread pty pwd re_comp regex regexp regexps resolv sched search semaphore setjmp sgtty shadow signal spawn stab
	stdalign stdarg stdatomic stdbit stdbool stdc-predef stdckdint stddef stdint stdio stdio_ext stdlib stdnoreturn string
	strings stropts sys syscall sysexits syslimits syslog tar termio termios tgmath thread_db threads time trace ttyent uchar ucontext
	ulimit unistd utime utmp utmpx values varargs version wait wchar wctype wordexp
	cpuid immintrin emmintrin xmmintrin omp unwind cxxabi`)

// pythonWords are Python's keywords, which cannot be names.
var pythonWords = set(`False None True and as assert async await break class continue def del elif else except finally
	for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// PythonOwn are the names of module.py that a program's user uses.
var PythonOwn = []string{"Error", "Tensor", "set_threads", "get_threads", "cpu", "use_cpu", "release_memory", "timeout"}

var pythonOwn = set(strings.Join(PythonOwn, " "))

// pythonModules are the modules of Python and NumPy.
var pythonModules = set(`numpy
	abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii binhex bisect
	builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression
	concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal
	difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch
	formatter fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html
	http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale
	logging lzma macpath mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis
	nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools
	pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc
	pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors
	shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants
	sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol symtable sys sysconfig syslog
	tabnanny tarfile telnetlib tempfile termios test textwrap this threading time timeit tkinter token tokenize tomllib
	trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave
	weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo`)

// goWords are Go's keywords and predeclared names.
var goWords = set(`break case chan const continue default defer else fallthrough for func go goto if import interface map
	package range return select struct switch type var
	any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8
	uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex copy delete imag len make max min new
	panic print println real recover`)

// goOwn are the functions of a package that are not of the program, goLocal what its functions use.
var (
	goOwn   = set("Threads")
	goLocal = set("ctx code runtime tensor context err out")
)

// goSystems are the systems and processors that the name of a file may end in.
var goSystems = set(`aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris
	wasip1 windows zos 386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32
	mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm unix`)
