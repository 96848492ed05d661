
; ---- Stacks. Kernels keep copies of their operands on the stack, up to 2 MiB of them, and a host's thread may have a
; stack of 128 KiB. So a kernel that needs more than any thread has runs on memory of its own where little is left.

declare i32 @mprotect(ptr, i64, i32)
declare i32 @pthread_getattr_np(i64, ptr)
declare i32 @pthread_attr_getstack(ptr, ptr, ptr)
declare i32 @pthread_attr_getguardsize(ptr, ptr)

; heal.on(fn, top, job, begin, end, err) calls fn(job, begin, end, err) on the stack that ends at top.
declare hidden void @heal.on(ptr, ptr, ptr, i64, i64, ptr)

; The first byte of the calling thread's stack, and the first one behind it: 0 is not known yet.
@heal.bounds = internal thread_local global [2 x i64] zeroinitializer, align 8

; Whether bytes of the thread's stack are left. On a stack that is not the thread's, as that of a coroutine, it is false.
define internal i1 @heal.roomy(i64 %bytes) noinline {
entry:
  %here = alloca i64, align 8
  %sp = ptrtoint ptr %here to i64
  %high0 = getelementptr [2 x i64], ptr @heal.bounds, i64 0, i64 1
  %end0 = load i64, ptr %high0, align 8
  %new = icmp eq i64 %end0, 0
  br i1 %new, label %ask, label %judge
ask:
  call void @heal.measure(ptr @heal.bounds)
  br label %judge
judge:
  %low = load i64, ptr @heal.bounds, align 8
  %high = getelementptr [2 x i64], ptr @heal.bounds, i64 0, i64 1
  %end = load i64, ptr %high, align 8
  %least = add i64 %low, %bytes
  %above = icmp uge i64 %sp, %least
  %below = icmp ult i64 %sp, %end
  %yes = and i1 %above, %below
  ret i1 %yes
}

; Asks the system where the thread's stack is. Where it does not say, no place is on it.
define internal void @heal.measure(ptr %bounds) cold noinline {
entry:
  %attr = alloca [128 x i8], align 16
  %addr = alloca i64, align 8
  %size = alloca i64, align 8
  %guard = alloca i64, align 8
  %high = getelementptr [2 x i64], ptr %bounds, i64 0, i64 1
  store i64 0, ptr %bounds, align 8
  store i64 1, ptr %high, align 8
  %self = call i64 @pthread_self()
  %r = call i32 @pthread_getattr_np(i64 %self, ptr %attr)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %get, label %out
get:
  %r1 = call i32 @pthread_attr_getstack(ptr %attr, ptr %addr, ptr %size)
  %r2 = call i32 @pthread_attr_getguardsize(ptr %attr, ptr %guard)
  %r3 = call i32 @pthread_attr_destroy(ptr %attr)
  %a = load i64, ptr %addr, align 8
  %s = load i64, ptr %size, align 8
  %g = load i64, ptr %guard, align 8
  %low = add i64 %a, %g
  %end = add i64 %a, %s
  store i64 %low, ptr %bounds, align 8
  store i64 %end, ptr %high, align 8
  br label %out
out:
  ret void
}

; How large the memory is for a stack of bytes: 128 KiB more, of which 64 at its beginning cannot be accessed, so that
; what would not fit after all stops there. Pages have 64 KiB at most.
define internal i64 @heal.stacksize(i64 %bytes) alwaysinline {
  %more = add i64 %bytes, 131135
  %size = and i64 %more, -64
  ret i64 %size
}

; The first page that cannot be accessed.
define internal ptr @heal.fence(ptr %stack) alwaysinline {
  %word = ptrtoint ptr %stack to i64
  %up = add i64 %word, 65535
  %at = and i64 %up, -65536
  %p = inttoptr i64 %at to ptr
  ret ptr %p
}

; Memory of heal.stacksize bytes for a stack, or null.
define internal ptr @heal.borrow(i64 %size) noinline {
entry:
  %stack = call ptr @heal.take(i64 %size)
  %none = icmp eq ptr %stack, null
  br i1 %none, label %out, label %close
close:
  %fence = call ptr @heal.fence(ptr %stack)
  %r = call i32 @mprotect(ptr %fence, i64 65536, i32 0)
  br label %out
out:
  ret ptr %stack
}

define internal void @heal.return(ptr %stack) noinline {
  %fence = call ptr @heal.fence(ptr %stack)
  %r = call i32 @mprotect(ptr %fence, i64 65536, i32 3)
  call void @heal.give(ptr %stack)
  ret void
}

; Runs [begin, end) of a region on memory of its own; site -2 is the error when there is none.
define internal void @heal.away(ptr %job, i64 %begin, i64 %end, ptr %err, i64 %bytes) cold noinline {
entry:
  %size = call i64 @heal.stacksize(i64 %bytes)
  %stack = call ptr @heal.borrow(i64 %size)
  %none = icmp eq ptr %stack, null
  br i1 %none, label %refuse, label %run
run:
  %top = getelementptr i8, ptr %stack, i64 %size
  call void @heal.on(ptr @heal.here, ptr %top, ptr %job, i64 %begin, i64 %end, ptr %err)
  call void @heal.return(ptr %stack)
  ret void
refuse:
  store i64 -2, ptr %err, align 8
  %ap = getelementptr [4 x i64], ptr %err, i64 0, i64 1
  store i64 %size, ptr %ap, align 8
  ret void
}

; Calls a function of a plan on memory of its own: the job has the function, its arguments and, behind them, what it
; returned. The result is 0, or the bytes that there are not. What is called asks for room on this stack, as on a
; thread's, so that functions that call themselves take as many as they need, one after the other.
define internal i64 @heal.nest(ptr %job) cold noinline {
entry:
  %size = call i64 @heal.stacksize(i64 1048576)
  %stack = call ptr @heal.borrow(i64 %size)
  %none = icmp eq ptr %stack, null
  br i1 %none, label %refuse, label %run
run:
  %top = getelementptr i8, ptr %stack, i64 %size
  %high = getelementptr [2 x i64], ptr @heal.bounds, i64 0, i64 1
  %low0 = load i64, ptr @heal.bounds, align 8
  %high0 = load i64, ptr %high, align 8
  %fence = call ptr @heal.fence(ptr %stack)
  %first = getelementptr i8, ptr %fence, i64 65536
  %low1 = ptrtoint ptr %first to i64
  %high1 = ptrtoint ptr %top to i64
  store i64 %low1, ptr @heal.bounds, align 8
  store i64 %high1, ptr %high, align 8
  call void @heal.on(ptr @heal.nested, ptr %top, ptr %job, i64 0, i64 0, ptr null)
  store i64 %low0, ptr @heal.bounds, align 8
  store i64 %high0, ptr %high, align 8
  call void @heal.return(ptr %stack)
  ret i64 0
refuse:
  ret i64 %size
}

define internal void @heal.nested(ptr %job, i64 %begin, i64 %end, ptr %err) noinline {
  %fn = load ptr, ptr %job, align 8
  %p1 = getelementptr i64, ptr %job, i64 1
  %p2 = getelementptr i64, ptr %job, i64 2
  %p3 = getelementptr i64, ptr %job, i64 3
  %p4 = getelementptr i64, ptr %job, i64 4
  %p5 = getelementptr i64, ptr %job, i64 5
  %p6 = getelementptr i64, ptr %job, i64 6
  %dims = load ptr, ptr %p1, align 8
  %in = load ptr, ptr %p2, align 8
  %out = load ptr, ptr %p3, align 8
  %kernels = load ptr, ptr %p4, align 8
  %depth = load i64, ptr %p5, align 8
  %code = call i32 %fn(ptr %dims, ptr %in, ptr %out, ptr %kernels, i64 %depth)
  %wide = zext i32 %code to i64
  store i64 %wide, ptr %p6, align 8
  ret void
}
