; The part of a shared library that is the same in all: memory, errors, threads. It is LLVM IR so that neither a C
; compiler nor Go is needed to make or to run a library; the generated functions stand below it in one module.

; ---- What libc gives.
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i32 @dprintf(i32, ptr, ...)
declare ptr @getenv(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare i32 @strcmp(ptr, ptr)
declare i32 @open(ptr, i32, ...)
declare i64 @read(i32, ptr, i64)
declare i32 @close(i32)
declare i32 @getpid()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @sched_getcpu()
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.ctpop.i64(i64)

; ---- Errors: the message of the last failure on each thread.
@heal.message = internal thread_local global [1024 x i8] zeroinitializer

define ptr @heal_last_error() {
  ret ptr @heal.message
}

@heal.text.memory = internal constant [28 x i8] c"out of memory: %lld bytes\00\00\00"
define internal i32 @heal.memory(i64 %bytes) cold noinline {
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.text.memory, i64 %bytes)
  ret i32 1
}

; ---- Memory for intermediate results. A block that is given back is kept for the next call, so that a second call
; allocates nothing. A block starts with 64 bytes that hold its size.
@heal.kept = internal global [8 x ptr] zeroinitializer

define internal ptr @heal.take(i64 %bytes) {
entry:
  %absurd = icmp ugt i64 %bytes, 1152921504606846976
  br i1 %absurd, label %none, label %search
search:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %slot = getelementptr [8 x ptr], ptr @heal.kept, i64 0, i64 %i
  %there = load atomic ptr, ptr %slot monotonic, align 8
  %no = icmp eq ptr %there, null
  br i1 %no, label %next, label %grab
grab:
  %p = atomicrmw xchg ptr %slot, ptr null acquire
  %gone = icmp eq ptr %p, null
  br i1 %gone, label %next, label %fits
fits:
  %size = load i64, ptr %p, align 64
  %enough = icmp uge i64 %size, %bytes
  br i1 %enough, label %found, label %small
found:
  %data = getelementptr i8, ptr %p, i64 64
  ret ptr %data
small:
  call void @free(ptr %p)
  br label %next
next:
  %i1 = add i64 %i, 1
  %done = icmp eq i64 %i1, 8
  br i1 %done, label %fresh, label %search
fresh:
  ; From 4 MiB on, huge pages: fewer page faults and fewer misses of the TLB.
  %large = icmp uge i64 %bytes, 4194304
  %align = select i1 %large, i64 2097152, i64 64
  %less = sub i64 %align, 1
  %sum = add i64 %bytes, 64
  %up = add i64 %sum, %less
  %mask = xor i64 %less, -1
  %total = and i64 %up, %mask
  %q = call ptr @aligned_alloc(i64 %align, i64 %total)
  %failed = icmp eq ptr %q, null
  br i1 %failed, label %none, label %ready
ready:
  br i1 %large, label %huge, label %head
huge:
  %advised = call i32 @madvise(ptr %q, i64 %total, i32 14)
  br label %head
head:
  %usable = sub i64 %total, 64
  store i64 %usable, ptr %q, align 64
  %qdata = getelementptr i8, ptr %q, i64 64
  ret ptr %qdata
none:
  ret ptr null
}

define internal void @heal.give(ptr %data) {
entry:
  %nothing = icmp eq ptr %data, null
  br i1 %nothing, label %end, label %start
start:
  %p = getelementptr i8, ptr %data, i64 -64
  br label %search
search:
  %i = phi i64 [ 0, %start ], [ %i1, %next ]
  %slot = getelementptr [8 x ptr], ptr @heal.kept, i64 0, i64 %i
  %pair = cmpxchg ptr %slot, ptr null, ptr %p release monotonic
  %ok = extractvalue { ptr, i1 } %pair, 1
  br i1 %ok, label %end, label %next
next:
  %i1 = add i64 %i, 1
  %done = icmp eq i64 %i1, 8
  br i1 %done, label %full, label %search
full:
  call void @free(ptr %p)
  br label %end
end:
  ret void
}

define void @heal_release_memory() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %slot = getelementptr [8 x ptr], ptr @heal.kept, i64 0, i64 %i
  %p = atomicrmw xchg ptr %slot, ptr null acquire
  call void @free(ptr %p)
  %i1 = add i64 %i, 1
  %done = icmp eq i64 %i1, 8
  br i1 %done, label %end, label %loop
end:
  ret void
}

; Copies elements of size bytes between tensors of one shape and any strides, the first axis by a loop over itself.
define internal void @heal.copy(ptr %dst, ptr %ds, ptr %src, ptr %ss, ptr %shape, i64 %rank, i64 %size) {
entry:
  %scalar = icmp eq i64 %rank, 0
  br i1 %scalar, label %one, label %axis
one:
  call void @llvm.memcpy.p0.p0.i64(ptr %dst, ptr %src, i64 %size, i1 false)
  ret void
axis:
  %n = load i64, ptr %shape, align 8
  %d = load i64, ptr %ds, align 8
  %s = load i64, ptr %ss, align 8
  %db = mul i64 %d, %size
  %sb = mul i64 %s, %size
  %empty = icmp sle i64 %n, 0
  br i1 %empty, label %end, label %kind
kind:
  %last = icmp eq i64 %rank, 1
  br i1 %last, label %row, label %outer
outer:
  %shape1 = getelementptr i64, ptr %shape, i64 1
  %ds1 = getelementptr i64, ptr %ds, i64 1
  %ss1 = getelementptr i64, ptr %ss, i64 1
  %rank1 = sub i64 %rank, 1
  br label %outerloop
outerloop:
  %i = phi i64 [ 0, %outer ], [ %i1, %outerloop ]
  %do = mul i64 %i, %db
  %so = mul i64 %i, %sb
  %dp = getelementptr i8, ptr %dst, i64 %do
  %sp = getelementptr i8, ptr %src, i64 %so
  call void @heal.copy(ptr %dp, ptr %ds1, ptr %sp, ptr %ss1, ptr %shape1, i64 %rank1, i64 %size)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %outerloop, label %end
row:
  %dense1 = icmp eq i64 %d, 1
  %dense2 = icmp eq i64 %s, 1
  %dense = and i1 %dense1, %dense2
  br i1 %dense, label %block, label %sparse
block:
  %bytes = mul i64 %n, %size
  call void @llvm.memcpy.p0.p0.i64(ptr %dst, ptr %src, i64 %bytes, i1 false)
  ret void
sparse:
  switch i64 %size, label %l1 [
    i64 2, label %l2
    i64 4, label %l4
    i64 8, label %l8
  ]
l1:
  %i_1 = phi i64 [ 0, %sparse ], [ %n_1, %l1 ]
  %do_1 = mul i64 %i_1, %db
  %so_1 = mul i64 %i_1, %sb
  %dp_1 = getelementptr i8, ptr %dst, i64 %do_1
  %sp_1 = getelementptr i8, ptr %src, i64 %so_1
  %v_1 = load i8, ptr %sp_1, align 1
  store i8 %v_1, ptr %dp_1, align 1
  %n_1 = add i64 %i_1, 1
  %m_1 = icmp slt i64 %n_1, %n
  br i1 %m_1, label %l1, label %end
l2:
  %i_2 = phi i64 [ 0, %sparse ], [ %n_2, %l2 ]
  %do_2 = mul i64 %i_2, %db
  %so_2 = mul i64 %i_2, %sb
  %dp_2 = getelementptr i8, ptr %dst, i64 %do_2
  %sp_2 = getelementptr i8, ptr %src, i64 %so_2
  %v_2 = load i16, ptr %sp_2, align 2
  store i16 %v_2, ptr %dp_2, align 2
  %n_2 = add i64 %i_2, 1
  %m_2 = icmp slt i64 %n_2, %n
  br i1 %m_2, label %l2, label %end
l4:
  %i_4 = phi i64 [ 0, %sparse ], [ %n_4, %l4 ]
  %do_4 = mul i64 %i_4, %db
  %so_4 = mul i64 %i_4, %sb
  %dp_4 = getelementptr i8, ptr %dst, i64 %do_4
  %sp_4 = getelementptr i8, ptr %src, i64 %so_4
  %v_4 = load i32, ptr %sp_4, align 4
  store i32 %v_4, ptr %dp_4, align 4
  %n_4 = add i64 %i_4, 1
  %m_4 = icmp slt i64 %n_4, %n
  br i1 %m_4, label %l4, label %end
l8:
  %i_8 = phi i64 [ 0, %sparse ], [ %n_8, %l8 ]
  %do_8 = mul i64 %i_8, %db
  %so_8 = mul i64 %i_8, %sb
  %dp_8 = getelementptr i8, ptr %dst, i64 %do_8
  %sp_8 = getelementptr i8, ptr %src, i64 %so_8
  %v_8 = load i64, ptr %sp_8, align 8
  store i64 %v_8, ptr %dp_8, align 8
  %n_8 = add i64 %i_8, 1
  %m_8 = icmp slt i64 %n_8, %n
  br i1 %m_8, label %l8, label %end
end:
  ret void
}

; The bytes [low, high) from a tensor's address that its elements lie in.
define internal void @heal.span(ptr %shape, ptr %strides, i64 %rank, i64 %size, ptr %low, ptr %high) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %lo = phi i64 [ 0, %entry ], [ %lo1, %next ]
  %hi = phi i64 [ 0, %entry ], [ %hi1, %next ]
  %done = icmp eq i64 %i, %rank
  br i1 %done, label %end, label %axis
axis:
  %np = getelementptr i64, ptr %shape, i64 %i
  %n = load i64, ptr %np, align 8
  %sp = getelementptr i64, ptr %strides, i64 %i
  %s = load i64, ptr %sp, align 8
  %empty = icmp sle i64 %n, 0
  br i1 %empty, label %nothing, label %next
next:
  %n1 = sub i64 %n, 1
  %reach = mul i64 %n1, %s
  %down = call i64 @llvm.smin.i64(i64 %reach, i64 0)
  %up = call i64 @llvm.smax.i64(i64 %reach, i64 0)
  %lo1 = add i64 %lo, %down
  %hi1 = add i64 %hi, %up
  %i1 = add i64 %i, 1
  br label %loop
nothing:
  store i64 0, ptr %low, align 8
  store i64 0, ptr %high, align 8
  ret void
end:
  %hin = add i64 %hi, 1
  %lob = mul i64 %lo, %size
  %hib = mul i64 %hin, %size
  store i64 %lob, ptr %low, align 8
  store i64 %hib, ptr %high, align 8
  ret void
}

; Whether strides are those of a row-major tensor, where it matters: not on axes of one element, nor when a tensor
; is empty. No strides at all are row-major.
define internal i1 @heal.dense(ptr %shape, ptr %strides, i64 %rank) {
entry:
  %implied = icmp eq ptr %strides, null
  br i1 %implied, label %yes, label %loop
loop:
  %k = phi i64 [ %rank, %entry ], [ %k1, %next ]
  %want = phi i64 [ 1, %entry ], [ %want1, %next ]
  %ok = phi i1 [ true, %entry ], [ %ok1, %next ]
  %done = icmp eq i64 %k, 0
  br i1 %done, label %end, label %axis
axis:
  %k1 = sub i64 %k, 1
  %np = getelementptr i64, ptr %shape, i64 %k1
  %n = load i64, ptr %np, align 8
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %yes, label %next
next:
  %sp = getelementptr i64, ptr %strides, i64 %k1
  %s = load i64, ptr %sp, align 8
  %same = icmp eq i64 %s, %want
  %single = icmp eq i64 %n, 1
  %fine = or i1 %same, %single
  %ok1 = and i1 %ok, %fine
  %want1 = mul i64 %want, %n
  br label %loop
end:
  ret i1 %ok
yes:
  ret i1 true
}
