
; ---- What the functions of tvm-ffi share (tvmffi.go). An argument is 16 bytes: an i32 says what it is, and 8 bytes
; behind the first 8 are its value. A tensor is a DLTensor: data, device (type, number), rank, element type (kind, bits,
; lanes), extents, strides, bytes before the first element.

; A function of libtvm_ffi, which whoever calls has loaded for all of the process, maybe after this library. NULL where
; nobody has. slot keeps what was found.
declare extern_weak ptr @dlsym(ptr, ptr)
define internal ptr @heal.ffi.find(ptr %slot, ptr %name) {
  %kept = load atomic ptr, ptr %slot monotonic, align 8
  %is = icmp ne ptr %kept, null
  br i1 %is, label %there, label %look
there:
  ret ptr %kept
look:
  %able = icmp ne ptr @dlsym, null
  br i1 %able, label %ask, label %none
none:
  ret ptr null
ask:
  %found = call ptr @dlsym(ptr null, ptr %name)   ; of any library
  store atomic ptr %found, ptr %slot monotonic, align 8
  ret ptr %found
}
@heal.ffi.slots = internal global [5 x ptr] zeroinitializer

define internal ptr @heal.ffi.function(i32 %which) {
  %i = zext i32 %which to i64
  %slot = getelementptr [5 x ptr], ptr @heal.ffi.slots, i64 0, i64 %i
  %name.at = getelementptr [5 x ptr], ptr @heal.ffi.functions, i64 0, i64 %i
  %name = load ptr, ptr %name.at, align 8
  %f = call ptr @heal.ffi.find(ptr %slot, ptr %name)
  ret ptr %f
}

define internal void @heal.ffi.drop(ptr %object) {
  %f = call ptr @heal.ffi.function(i32 4)
  %n = call i32 %f(ptr %object)
  ret void
}

; The tensor that an argument is, as a heal_tensor. Elements of the kind alias are taken, too.
define internal i32 @heal.ffi.tensor(ptr %any, i32 %kind, i32 %alias, i32 %rank, ptr %name, ptr %type, ptr %out) {
  %index = load i32, ptr %any, align 8
  %at = getelementptr i8, ptr %any, i64 8
  %value = load ptr, ptr %at, align 8
  switch i32 %index, label %other [ i32 7, label %view
                                    i32 70, label %object ]
other:
  %n0 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.none, ptr %name, ptr %type)
  ret i32 12
object:                                           ; whose DLTensor is behind 24 bytes
  %behind = getelementptr i8, ptr %value, i64 24
  br label %there
view:
  br label %there
there:
  %t = phi ptr [ %behind, %object ], [ %value, %view ]
  %device.at = getelementptr i8, ptr %t, i64 8
  %device = load i32, ptr %device.at, align 8
  switch i32 %device, label %away [ i32 1, label %here
                                    i32 3, label %here ]
away:
  %n1 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.away, ptr %name, i32 %device)
  ret i32 12
here:                                             ; memory of the CPU, or such that a GPU sees as well
  %kind.at = getelementptr i8, ptr %t, i64 20
  %got = load i32, ptr %kind.at, align 4
  %is = icmp eq i32 %got, %kind
  %is.alias = icmp eq i32 %got, %alias
  %fits = or i1 %is, %is.alias
  br i1 %fits, label %typed, label %mistyped
mistyped:
  %code = and i32 %got, 255
  %bits.8 = lshr i32 %got, 8
  %bits = and i32 %bits.8, 255
  %lanes = lshr i32 %got, 16
  %known = icmp ult i32 %code, 18
  %k = select i1 %known, i32 %code, i32 18
  %k.64 = zext i32 %k to i64
  %word.at = getelementptr [19 x ptr], ptr @heal.ffi.kinds, i64 0, i64 %k.64
  %word = load ptr, ptr %word.at, align 8
  %n2 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.mistyped, ptr %name, ptr %word, i32 %bits, i32 %lanes, ptr %type)
  ret i32 12
typed:
  %rank.at = getelementptr i8, ptr %t, i64 16
  %axes = load i32, ptr %rank.at, align 8
  %ranked = icmp eq i32 %axes, %rank
  br i1 %ranked, label %good, label %misranked
misranked:
  %n3 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.misranked, ptr %name, i32 %axes, i32 %rank)
  ret i32 2
good:
  %data = load ptr, ptr %t, align 8
  %offset.at = getelementptr i8, ptr %t, i64 40
  %offset = load i64, ptr %offset.at, align 8
  %first = getelementptr i8, ptr %data, i64 %offset
  store ptr %first, ptr %out, align 8
  %shape.from = getelementptr i8, ptr %t, i64 24
  %shape.to = getelementptr i8, ptr %out, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr %shape.to, ptr %shape.from, i64 16, i1 false)
  ret i32 0
}

; The whole number that an argument is.
define internal i32 @heal.ffi.int(ptr %any, i64 %low, i64 %high, ptr %name, ptr %type, ptr %out) {
  %index = load i32, ptr %any, align 8
  %at = getelementptr i8, ptr %any, i64 8
  %value = load i64, ptr %at, align 8
  %int = icmp eq i32 %index, 1
  br i1 %int, label %number, label %other
other:
  %n0 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.none, ptr %name, ptr %type)
  ret i32 12
number:
  %under = icmp slt i64 %value, %low
  %over = icmp sgt i64 %value, %high
  %out.of = or i1 %under, %over
  br i1 %out.of, label %range, label %good
range:
  %n1 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.range, ptr %name, i64 %value, i64 %low, i64 %high)
  ret i32 13
good:
  store i64 %value, ptr %out, align 8
  ret i32 0
}

; The truth value that an argument is.
define internal i32 @heal.ffi.bool(ptr %any, ptr %name, ptr %type, ptr %out) {
  %index = load i32, ptr %any, align 8
  %at = getelementptr i8, ptr %any, i64 8
  %value = load i64, ptr %at, align 8
  %is = icmp eq i32 %index, 2
  br i1 %is, label %good, label %other
other:
  %n0 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.none, ptr %name, ptr %type)
  ret i32 12
good:
  %true = icmp ne i64 %value, 0
  %word = zext i1 %true to i64
  store i64 %word, ptr %out, align 8
  ret i32 0
}

; The number that an argument is.
define internal i32 @heal.ffi.float(ptr %any, ptr %name, ptr %type, ptr %out) {
  %index = load i32, ptr %any, align 8
  %at = getelementptr i8, ptr %any, i64 8
  switch i32 %index, label %other [ i32 1, label %int
                                    i32 3, label %float ]
other:
  %n0 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.none, ptr %name, ptr %type)
  ret i32 12
int:
  %value = load i64, ptr %at, align 8
  %whole = sitofp i64 %value to double
  store double %whole, ptr %out, align 8
  ret i32 0
float:
  %x = load double, ptr %at, align 8
  store double %x, ptr %out, align 8
  ret i32 0
}

; A new tensor of the caller's library on the CPU. out gets the object, and behind it a heal_tensor. -1: the library has
; said what is wrong.
define internal i32 @heal.ffi.new(i32 %kind, i32 %rank, ptr %shape, ptr %out) {
  %t = alloca [48 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %t, i8 0, i64 48, i1 false)
  %alloc = call ptr @heal.ffi.function(i32 1)
  %none = icmp eq ptr %alloc, null
  br i1 %none, label %alone, label %ask
alone:
  %n0 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.alone)
  ret i32 9
ask:
  %device = getelementptr i8, ptr %t, i64 8
  store i32 1, ptr %device, align 8
  %rank.at = getelementptr i8, ptr %t, i64 16
  store i32 %rank, ptr %rank.at, align 8
  %kind.at = getelementptr i8, ptr %t, i64 20
  store i32 %kind, ptr %kind.at, align 4
  %shape.at = getelementptr i8, ptr %t, i64 24
  store ptr %shape, ptr %shape.at, align 8
  %failed = call i32 %alloc(ptr %t, ptr %out)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %raised, label %good
raised:
  store ptr null, ptr %out, align 8
  ret i32 -1
good:
  %object = load ptr, ptr %out, align 8
  %any = alloca [16 x i8], align 8
  store i32 70, ptr %any, align 8
  %value = getelementptr i8, ptr %any, i64 8
  store ptr %object, ptr %value, align 8
  %tensor = getelementptr i8, ptr %out, i64 8
  %code = call i32 @heal.ffi.tensor(ptr %any, i32 %kind, i32 %kind, i32 %rank, ptr @heal.ffi.result, ptr @heal.ffi.result, ptr %tensor)
  ret i32 %code
}

; The results of a function with several, each an argument, as one array.
define internal i32 @heal.ffi.array(ptr %anys, i32 %n, ptr %result) {
  %f = alloca ptr, align 8
  %global = call ptr @heal.ffi.function(i32 2)
  %none = icmp eq ptr %global, null
  br i1 %none, label %alone, label %ask
alone:
  %n0 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr @heal.ffi.alone)
  ret i32 9
ask:
  %failed = call i32 %global(ptr @heal.ffi.array.name, ptr %f)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %raised, label %call
raised:
  ret i32 -1
call:
  %function = load ptr, ptr %f, align 8
  %apply = call ptr @heal.ffi.function(i32 3)
  %code = call i32 %apply(ptr %function, ptr %anys, i32 %n, ptr %result)
  call void @heal.ffi.drop(ptr %function)
  %is.bad = icmp ne i32 %code, 0
  %out = sext i1 %is.bad to i32
  ret i32 %out
}

; What a function of tvm-ffi returns for a code: 0, or -1 with an error that the library keeps.
define internal i32 @heal.ffi.raise(i32 %code) {
  switch i32 %code, label %kind [ i32 0, label %good
                                  i32 -1, label %raised ]
good:
  ret i32 0
kind:
  %set = call ptr @heal.ffi.function(i32 0)
  %none = icmp eq ptr %set, null
  br i1 %none, label %raised, label %raise
raise:
  %i = zext i32 %code to i64
  %word.at = getelementptr [14 x ptr], ptr @heal.ffi.errors, i64 0, i64 %i
  %word = load ptr, ptr %word.at, align 8
  call void %set(ptr %word, ptr @heal.message)
  br label %raised
raised:
  ret i32 -1
}
