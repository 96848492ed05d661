
; ---- Stopping. A thread gives its calls a flag of the host (heal_stoppable); once the flag is not 0, they end. Between
; kernels the plan looks at it. A kernel is left without its help, as Note [Stopping] of package objload has it: a kernel
; allocates nothing and holds nothing, so it can be left at any instruction. A thread that begins one writes itself, the
; flag, and where its stack is into a slot. A thread of the library, the watcher, looks at the flags of the slots, and
; sends a real-time signal that nobody uses to those that are to end. The handler runs on the thread that is in the
; kernel; where that is in code of the library, it goes on where the kernel would return to. Elsewhere, in a function of
; the C library or in a handler of the host, nothing happens, and the signal comes again, every half millisecond.
;
; Nothing of this is there before the first heal_stoppable: no thread, no handler, and no more than a load for a kernel.

; Who is in a kernel (pthread_self), its stack where the kernel returns (0: in none), the flag, 1 while it is to leave
; and 2 when it has, 1 while the slot is taken, 1 while the watcher looks at it. The assembly knows the second.
%heal.slot = type { i64, i64, ptr, i32, i32, i32, [28 x i8] }

declare i64 @pthread_self()
declare i32 @pthread_kill(i64, i32)
declare i32 @sigaction(i32, ptr, ptr)
declare i32 @nanosleep(ptr, ptr)
declare i64 @syscall(i64, ...)

; The first byte of the library, or of the program that it is linked into, and the end of its code.
@__ehdr_start = external hidden global i8
@etext = external hidden global i8

declare hidden void @heal.enter(ptr, ptr, ptr, ptr, i64, i64, ptr)
declare hidden void @heal.left()

@heal.flag = internal thread_local global ptr null
@heal.unblocked = internal thread_local global i32 0
@heal.stoppable = internal global i32 0
@heal.slots = internal global [256 x %heal.slot] zeroinitializer, align 64
@heal.signal = internal global i32 0
@heal.watch.pid = internal global i32 0
@heal.watch.lock = internal global i32 0
@heal.watch.thread = internal global i64 0
@heal.watch.quit = internal global i32 0
@heal.watch.asleep = internal global i32 0
@heal.watch.mutex = internal global [64 x i8] zeroinitializer, align 16
@heal.watch.cond = internal global [64 x i8] zeroinitializer, align 16
@heal.text.stopped = internal constant [21 x i8] c"the call was stopped\00"

define internal i32 @heal.stopped() cold noinline {
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.text.stopped)
  ret i32 10
}

; The flag of the calling thread's calls, or null.
define internal ptr @heal.flagged() alwaysinline {
entry:
  %any = load atomic i32, ptr @heal.stoppable monotonic, align 4
  %never = icmp eq i32 %any, 0
  br i1 %never, label %out, label %look, !prof !1
look:
  %flag = call ptr @heal.myflag()
  br label %out
out:
  %f = phi ptr [ null, %entry ], [ %flag, %look ]
  ret ptr %f
}

define internal ptr @heal.myflag() noinline {
  %f = load ptr, ptr @heal.flag, align 8
  ret ptr %f
}

; Whether the calling thread's calls are to end.
define internal i1 @heal.halted() alwaysinline {
entry:
  %flag = call ptr @heal.flagged()
  %none = icmp eq ptr %flag, null
  br i1 %none, label %no, label %look
look:
  %v = load atomic i32, ptr %flag seq_cst, align 4
  %set = icmp ne i32 %v, 0
  ret i1 %set
no:
  ret i1 false
}

; Runs a kernel on the calling thread, so that its flag, if it has one, stops it.
define internal void @heal.mine(ptr %fn, ptr %bufs, ptr %dims, i64 %begin, i64 %end, ptr %err) cold noinline {
entry:
  %flag = load ptr, ptr @heal.flag, align 8
  %none = icmp eq ptr %flag, null
  br i1 %none, label %plain, label %guarded
plain:
  call void %fn(ptr %bufs, ptr %dims, i64 %begin, i64 %end, ptr %err)
  ret void
guarded:
  call void @heal.guarded(ptr %flag, ptr %fn, ptr %bufs, ptr %dims, i64 %begin, i64 %end, ptr %err)
  ret void
}

; Runs a kernel that flag stops; site -1 is the error.
define internal void @heal.guarded(ptr %flag, ptr %fn, ptr %bufs, ptr %dims, i64 %begin, i64 %end, ptr %err) noinline {
entry:
  %u = load i32, ptr @heal.unblocked, align 4
  %open = icmp ne i32 %u, 0
  br i1 %open, label %pick, label %unblock
unblock:
  call void @heal.unblock()
  br label %pick
pick:
  %self = call i64 @pthread_self()
  %mixed = mul i64 %self, -7046029254386353131
  %start = lshr i64 %mixed, 56
  br label %search
search:
  %i = phi i64 [ 0, %pick ], [ %i1, %next ]
  %sum = add i64 %start, %i
  %at = and i64 %sum, 255
  %slot = getelementptr [256 x %heal.slot], ptr @heal.slots, i64 0, i64 %at
  %busy = getelementptr %heal.slot, ptr %slot, i64 0, i32 4
  %pair = cmpxchg ptr %busy, i32 0, i32 1 seq_cst seq_cst
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %taken, label %next
next:
  %i1 = add i64 %i, 1
  %all = icmp eq i64 %i1, 256
  br i1 %all, label %full, label %search
full:
  %f0 = load atomic i32, ptr %flag seq_cst, align 4
  %halt0 = icmp ne i32 %f0, 0
  br i1 %halt0, label %refuse, label %unseen
unseen:
  call void %fn(ptr %bufs, ptr %dims, i64 %begin, i64 %end, ptr %err)
  ret void
taken:
  store i64 %self, ptr %slot, align 8
  %wanted = getelementptr %heal.slot, ptr %slot, i64 0, i32 3
  store atomic i32 0, ptr %wanted monotonic, align 4
  %of = getelementptr %heal.slot, ptr %slot, i64 0, i32 2
  store atomic ptr %flag, ptr %of seq_cst, align 8
  %asleep = load atomic i32, ptr @heal.watch.asleep seq_cst, align 4
  %sleeps = icmp ne i32 %asleep, 0
  br i1 %sleeps, label %wake, label %look
wake:
  %m1 = call i32 @pthread_mutex_lock(ptr @heal.watch.mutex)
  store atomic i32 0, ptr @heal.watch.asleep seq_cst, align 4
  %s1 = call i32 @pthread_cond_signal(ptr @heal.watch.cond)
  %m2 = call i32 @pthread_mutex_unlock(ptr @heal.watch.mutex)
  br label %look
look:
  %f = load atomic i32, ptr %flag seq_cst, align 4
  %halt = icmp ne i32 %f, 0
  br i1 %halt, label %release, label %run
run:
  call void @heal.enter(ptr %slot, ptr %fn, ptr %bufs, ptr %dims, i64 %begin, i64 %end, ptr %err)
  br label %release
release:
  ; The watcher sends signals to threads in slots that it has locked: this one is there until it has done so.
  %lock = getelementptr %heal.slot, ptr %slot, i64 0, i32 5
  br label %try
try:
  %was = atomicrmw xchg ptr %lock, i32 1 seq_cst
  %free = icmp eq i32 %was, 0
  br i1 %free, label %held, label %try
held:
  %w = load atomic i32, ptr %wanted seq_cst, align 4
  %left = icmp eq i32 %w, 2
  store atomic ptr null, ptr %of seq_cst, align 8
  store atomic i32 0, ptr %busy seq_cst, align 4
  store atomic i32 0, ptr %lock seq_cst, align 4
  %stopped = or i1 %halt, %left
  br i1 %stopped, label %refuse, label %out
refuse:
  store i64 -1, ptr %err, align 8
  ret void
out:
  ret void
}

; The handler of the signal: leaves the kernel that the thread is in.
define internal void @heal.caught(i32 %signal, ptr %info, ptr %context) {
entry:
  %self = call i64 @pthread_self()
  %ipp = getelementptr i8, ptr %context, i64 HEAL_IP
  %spp = getelementptr i8, ptr %context, i64 HEAL_SP
  %ip = load i64, ptr %ipp, align 8
  %above = icmp uge i64 %ip, ptrtoint (ptr @__ehdr_start to i64)
  %below = icmp ult i64 %ip, ptrtoint (ptr @etext to i64)
  %inside = and i1 %above, %below
  br i1 %inside, label %search, label %out
search:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %slot = getelementptr [256 x %heal.slot], ptr @heal.slots, i64 0, i64 %i
  %who = load i64, ptr %slot, align 8
  %mine = icmp eq i64 %who, %self
  %wp = getelementptr %heal.slot, ptr %slot, i64 0, i32 3
  %w = load atomic i32, ptr %wp monotonic, align 4
  %wanted = icmp eq i32 %w, 1
  %sp = getelementptr %heal.slot, ptr %slot, i64 0, i32 1
  %stack = load atomic i64, ptr %sp seq_cst, align 8
  %in = icmp ne i64 %stack, 0
  %a = and i1 %mine, %wanted
  %b = and i1 %a, %in
  br i1 %b, label %leave, label %next
next:
  %i1 = add i64 %i, 1
  %all = icmp eq i64 %i1, 256
  br i1 %all, label %out, label %search
leave:
  store i64 %stack, ptr %spp, align 8
  store i64 ptrtoint (ptr @heal.left to i64), ptr %ipp, align 8
  call void @heal.flags(ptr %context)
  store atomic i32 2, ptr %wp seq_cst, align 4
  br label %out
out:
  ret void
}

; Lets the signal through on the calling thread.
define internal void @heal.unblock() cold noinline {
  %set = alloca [16 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %set, i8 0, i64 128, i1 false)
  %sig = load atomic i32, ptr @heal.signal seq_cst, align 4
  %some = icmp ne i32 %sig, 0
  %s64 = zext i32 %sig to i64
  %less = sub i64 %s64, 1
  %shift = and i64 %less, 63
  %bit = shl i64 1, %shift
  %word = select i1 %some, i64 %bit, i64 0
  store i64 %word, ptr %set, align 8
  %r = call i32 @pthread_sigmask(i32 1, ptr %set, ptr null)
  store i32 1, ptr @heal.unblocked, align 4
  ret void
}

; Looks at the slots until the library is unloaded; it sleeps when there was nothing in them for a tenth of a second.
define internal ptr @heal.watch(ptr %unused) {
entry:
  %pause = alloca [2 x i64], align 8
  store i64 0, ptr %pause, align 8
  %nanos = getelementptr [2 x i64], ptr %pause, i64 0, i64 1
  br label %tick
tick:
  %idle = phi i32 [ 0, %entry ], [ %idle1, %again ], [ 0, %risen ]
  br label %scan
scan:
  %i = phi i64 [ 0, %tick ], [ %i1, %next ]
  %some = phi i32 [ 0, %tick ], [ %some1, %next ]
  %hot = phi i32 [ 0, %tick ], [ %hot1, %next ]
  %slot = getelementptr [256 x %heal.slot], ptr @heal.slots, i64 0, i64 %i
  %bp = getelementptr %heal.slot, ptr %slot, i64 0, i32 4
  %b = load atomic i32, ptr %bp seq_cst, align 4
  %busy = icmp ne i32 %b, 0
  br i1 %busy, label %lock, label %next
lock:
  %lp = getelementptr %heal.slot, ptr %slot, i64 0, i32 5
  %was = atomicrmw xchg ptr %lp, i32 1 seq_cst
  %free = icmp eq i32 %was, 0
  br i1 %free, label %held, label %next
held:
  %fp = getelementptr %heal.slot, ptr %slot, i64 0, i32 2
  %flag = load atomic ptr, ptr %fp seq_cst, align 8
  %none = icmp eq ptr %flag, null
  br i1 %none, label %unlock, label %see
see:
  %f = load atomic i32, ptr %flag seq_cst, align 4
  %set = icmp ne i32 %f, 0
  br i1 %set, label %inside, label %unlock
inside:
  %sp = getelementptr %heal.slot, ptr %slot, i64 0, i32 1
  %stack = load atomic i64, ptr %sp seq_cst, align 8
  %in = icmp ne i64 %stack, 0
  br i1 %in, label %send, label %unlock
send:
  %wp = getelementptr %heal.slot, ptr %slot, i64 0, i32 3
  %old = cmpxchg ptr %wp, i32 0, i32 1 seq_cst seq_cst
  %sig = load atomic i32, ptr @heal.signal seq_cst, align 4
  %ours = call i1 @heal.catch(i32 %sig)
  br i1 %ours, label %kill, label %unlock
kill:
  %who = load i64, ptr %slot, align 8
  %k = call i32 @pthread_kill(i64 %who, i32 %sig)
  br label %unlock
unlock:
  %h = phi i32 [ 0, %held ], [ 0, %see ], [ 1, %inside ], [ 1, %kill ], [ 1, %send ]
  store atomic i32 0, ptr %lp seq_cst, align 4
  br label %next
next:
  %add = phi i32 [ 0, %scan ], [ 1, %lock ], [ 1, %unlock ]
  %addh = phi i32 [ 0, %scan ], [ 0, %lock ], [ %h, %unlock ]
  %some1 = or i32 %some, %add
  %hot1 = or i32 %hot, %addh
  %i1 = add i64 %i, 1
  %all = icmp eq i64 %i1, 256
  br i1 %all, label %rest, label %scan
rest:
  %q = load atomic i32, ptr @heal.watch.quit seq_cst, align 4
  %quits = icmp ne i32 %q, 0
  br i1 %quits, label %exit, label %stay
stay:
  %empty = icmp eq i32 %some1, 0
  %idle.more = add i32 %idle, 1
  %idle1 = select i1 %empty, i32 %idle.more, i32 0
  %long = icmp sgt i32 %idle1, 20
  %a = load atomic i32, ptr @heal.watch.asleep seq_cst, align 4
  br i1 %long, label %sleep, label %again
again:
  %is.hot = icmp ne i32 %hot1, 0
  %ns = select i1 %is.hot, i64 500000, i64 5000000
  store i64 %ns, ptr %nanos, align 8
  %r = call i32 @nanosleep(ptr %pause, ptr null)
  br label %tick
sleep:
  ; Whoever takes a slot from here on sees that the watcher sleeps; slots that were taken before are seen below.
  %m1 = call i32 @pthread_mutex_lock(ptr @heal.watch.mutex)
  store atomic i32 1, ptr @heal.watch.asleep seq_cst, align 4
  br label %check
check:
  %j = phi i64 [ 0, %sleep ], [ %j1, %check.next ]
  %cslot = getelementptr [256 x %heal.slot], ptr @heal.slots, i64 0, i64 %j, i32 4
  %cb = load atomic i32, ptr %cslot seq_cst, align 4
  %cbusy = icmp ne i32 %cb, 0
  br i1 %cbusy, label %awake, label %check.next
check.next:
  %j1 = add i64 %j, 1
  %call = icmp eq i64 %j1, 256
  br i1 %call, label %wait, label %check
wait:
  %q2 = load atomic i32, ptr @heal.watch.quit seq_cst, align 4
  %z = load atomic i32, ptr @heal.watch.asleep seq_cst, align 4
  %quits2 = icmp ne i32 %q2, 0
  %woken = icmp eq i32 %z, 0
  %up = or i1 %quits2, %woken
  br i1 %up, label %awake, label %block
block:
  %w = call i32 @pthread_cond_wait(ptr @heal.watch.cond, ptr @heal.watch.mutex)
  br label %wait
awake:
  store atomic i32 0, ptr @heal.watch.asleep seq_cst, align 4
  %m2 = call i32 @pthread_mutex_unlock(ptr @heal.watch.mutex)
  br label %risen
risen:
  br label %tick
exit:
  ret ptr null
}

; struct sigaction of the C library: the handler, 128 bytes of mask, flags (at 136), restorer.
; Makes heal.caught the handler of sig if nobody else has one; false: somebody has.
define internal i1 @heal.catch(i32 %sig) {
entry:
  %old = alloca [19 x i64], align 8
  %act = alloca [19 x i64], align 8
  %bad = icmp eq i32 %sig, 0
  br i1 %bad, label %no, label %ask
ask:
  %r = call i32 @sigaction(i32 %sig, ptr null, ptr %old)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %look, label %no
look:
  %h = load ptr, ptr %old, align 8
  %ours = icmp eq ptr %h, @heal.caught
  br i1 %ours, label %yes, label %other
other:
  %default = icmp eq ptr %h, null
  br i1 %default, label %set, label %no
set:
  call void @llvm.memset.p0.i64(ptr %act, i8 -1, i64 136, i1 false)
  store ptr @heal.caught, ptr %act, align 8
  %fp = getelementptr i8, ptr %act, i64 136
  store i64 402653188, ptr %fp, align 8 ; SA_SIGINFO, SA_ONSTACK, SA_RESTART
  %rp = getelementptr i8, ptr %act, i64 144
  store i64 0, ptr %rp, align 8
  %s = call i32 @sigaction(i32 %sig, ptr %act, ptr null)
  %done = icmp eq i32 %s, 0
  ret i1 %done
yes:
  ret i1 true
no:
  ret i1 false
}

; Takes a signal and starts the watcher, once in a process: a child of fork has neither its parent's slots nor its watcher.
define internal void @heal.prepare() noinline {
entry:
  %pid = call i32 @getpid()
  %mine0 = load atomic i32, ptr @heal.watch.pid seq_cst, align 4
  %ready0 = icmp eq i32 %mine0, %pid
  br i1 %ready0, label %out, label %try
try:
  %was = atomicrmw xchg ptr @heal.watch.lock, i32 %pid seq_cst
  %free = icmp ne i32 %was, %pid
  br i1 %free, label %held, label %busy
busy:
  %y = call i32 @sched_yield()
  %mine1 = load atomic i32, ptr @heal.watch.pid seq_cst, align 4
  %ready1 = icmp eq i32 %mine1, %pid
  br i1 %ready1, label %out, label %try
held:
  %mine = load atomic i32, ptr @heal.watch.pid seq_cst, align 4
  %ready = icmp eq i32 %mine, %pid
  br i1 %ready, label %unlock, label %begin
begin:
  call void @llvm.memset.p0.i64(ptr @heal.slots, i8 0, i64 16384, i1 false)
  call void @llvm.memset.p0.i64(ptr @heal.watch.mutex, i8 0, i64 64, i1 false)
  call void @llvm.memset.p0.i64(ptr @heal.watch.cond, i8 0, i64 64, i1 false)
  store atomic i32 0, ptr @heal.watch.asleep seq_cst, align 4
  br label %choose
choose:
  %sig = phi i32 [ 62, %begin ], [ %sig1, %taken ]
  %got = call i1 @heal.catch(i32 %sig)
  br i1 %got, label %chosen, label %taken
taken:
  %sig1 = sub i32 %sig, 1
  %more = icmp sge i32 %sig1, 40
  br i1 %more, label %choose, label %start
chosen:
  store atomic i32 %sig, ptr @heal.signal seq_cst, align 4
  br label %start
start:
  ; The watcher takes no signals: those are the host's.
  %all = alloca [128 x i8], align 8
  %old = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  %m = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  %r = call i32 @pthread_create(ptr @heal.watch.thread, ptr null, ptr @heal.watch, ptr null)
  %m2 = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %set, label %unlock
set:
  store atomic i32 %pid, ptr @heal.watch.pid seq_cst, align 4
  br label %unlock
unlock:
  store atomic i32 0, ptr @heal.watch.lock seq_cst, align 4
  br label %out
out:
  store atomic i32 1, ptr @heal.stoppable seq_cst, align 4
  ret void
}

define void @heal_stoppable(ptr %flag) {
entry:
  store ptr %flag, ptr @heal.flag, align 8
  %none = icmp eq ptr %flag, null
  br i1 %none, label %out, label %some
some:
  call void @heal.prepare()
  call void @heal.unblock()
  br label %out
out:
  ret void
}

; What SIGINT did before the call that it may stop now, and the flag of that call.
@heal.interrupt.old = internal global [19 x i64] zeroinitializer, align 8
@heal.interrupt.flag = internal global ptr null
@heal.interrupt.own = internal global i32 0

define internal void @heal.interrupted(i32 %signal, ptr %info, ptr %context) {
entry:
  %flag = load atomic ptr, ptr @heal.interrupt.flag seq_cst, align 8
  %none = icmp eq ptr %flag, null
  br i1 %none, label %host, label %set
set:
  store atomic i32 1, ptr %flag seq_cst, align 4
  br label %host
host:
  %h = load ptr, ptr @heal.interrupt.old, align 8
  %word = ptrtoint ptr %h to i64
  %real = icmp ugt i64 %word, 1
  br i1 %real, label %call, label %out
call:
  call void %h(i32 %signal, ptr %info, ptr %context)
  br label %out
out:
  ret void
}

; Whether the thread is the process's first: 1, or 2 for another; 0 is not known yet.
@heal.first = internal thread_local global i32 0

define internal i32 @heal.isfirst() cold noinline {
  %pid = call i32 @getpid()
  %tid = call i64 (i64, ...) @syscall(i64 HEAL_GETTID)
  %t32 = trunc i64 %tid to i32
  %first = icmp eq i32 %pid, %t32
  %v = select i1 %first, i32 1, i32 2
  store i32 %v, ptr @heal.first, align 4
  ret i32 %v
}

define i32 @heal_interruptible(ptr %function, ptr %arguments, ptr %results) {
entry:
  %act = alloca [19 x i64], align 8
  %now = alloca [19 x i64], align 8
  %f0 = load i32, ptr @heal.first, align 4
  %known = icmp ne i32 %f0, 0
  br i1 %known, label %judge, label %find
find:
  %f1 = call i32 @heal.isfirst()
  br label %judge
judge:
  %f2 = phi i32 [ %f0, %entry ], [ %f1, %find ]
  %first = icmp eq i32 %f2, 1
  %running = load atomic ptr, ptr @heal.interrupt.flag seq_cst, align 8
  %outermost = icmp eq ptr %running, null
  %try = and i1 %first, %outermost
  br i1 %try, label %hook, label %plain
hook:
  %given = load ptr, ptr @heal.flag, align 8
  %none = icmp eq ptr %given, null
  %flag = select i1 %none, ptr @heal.interrupt.own, ptr %given
  store atomic i32 0, ptr @heal.interrupt.own seq_cst, align 4
  call void @heal.prepare()
  store atomic ptr %flag, ptr @heal.interrupt.flag seq_cst, align 8
  call void @llvm.memset.p0.i64(ptr %act, i8 0, i64 152, i1 false)
  store ptr @heal.interrupted, ptr %act, align 8
  %fp = getelementptr i8, ptr %act, i64 136
  store i32 134217732, ptr %fp, align 8 ; SA_SIGINFO, SA_ONSTACK
  %s = call i32 @sigaction(i32 2, ptr %act, ptr @heal.interrupt.old)
  %h = load ptr, ptr @heal.interrupt.old, align 8
  %word = ptrtoint ptr %h to i64
  %real = icmp ugt i64 %word, 1
  br i1 %real, label %call, label %unhook
unhook:
  ; SIGINT ends the process, or does nothing: so it stays.
  %s1 = call i32 @sigaction(i32 2, ptr @heal.interrupt.old, ptr null)
  store atomic ptr null, ptr @heal.interrupt.flag seq_cst, align 8
  br label %plain
plain:
  %c0 = call i32 %function(ptr %arguments, ptr %results)
  ret i32 %c0
call:
  store ptr %flag, ptr @heal.flag, align 8
  %c = call i32 %function(ptr %arguments, ptr %results)
  store ptr %given, ptr @heal.flag, align 8
  %s2 = call i32 @sigaction(i32 2, ptr @heal.interrupt.old, ptr %now)
  %cur = load ptr, ptr %now, align 8
  %still = icmp eq ptr %cur, @heal.interrupted
  br i1 %still, label %done, label %keep
keep:
  ; Another thread of the host has given SIGINT another handler meanwhile.
  %s3 = call i32 @sigaction(i32 2, ptr %now, ptr null)
  br label %done
done:
  store atomic ptr null, ptr @heal.interrupt.flag seq_cst, align 8
  ret i32 %c
}

; Ends the watcher when the library is unloaded, and gives the signal back.
define internal void @heal.unwatch() {
entry:
  %pid = call i32 @getpid()
  %mine = load atomic i32, ptr @heal.watch.pid seq_cst, align 4
  %same = icmp eq i32 %pid, %mine
  br i1 %same, label %end, label %out
end:
  store atomic i32 1, ptr @heal.watch.quit seq_cst, align 4
  %m1 = call i32 @pthread_mutex_lock(ptr @heal.watch.mutex)
  %s = call i32 @pthread_cond_signal(ptr @heal.watch.cond)
  %m2 = call i32 @pthread_mutex_unlock(ptr @heal.watch.mutex)
  %t = load i64, ptr @heal.watch.thread, align 8
  %j = call i32 @pthread_join(i64 %t, ptr null)
  %sig = load atomic i32, ptr @heal.signal seq_cst, align 4
  %ours = call i1 @heal.catch(i32 %sig)
  br i1 %ours, label %back, label %out
back:
  %act = alloca [19 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %act, i8 0, i64 152, i1 false)
  %r = call i32 @sigaction(i32 %sig, ptr %act, ptr null)
  br label %out
out:
  ret void
}
