
; ---- What ranks exchange bytes by: a copy of the host's heal_cluster, {context, rank, size, all_gather, all_to_all,
; send_receive, abort}. Its size is 0 until the host has set one.
@heal.cluster = internal global { ptr, i32, i32, ptr, ptr, ptr, ptr } zeroinitializer, align 8

@heal.text.rank = internal constant [41 x i8] c"set_cluster: there is no rank %lld of %d\00"
@heal.text.size = internal constant [53 x i8] c"set_cluster: this library has no code for %lld ranks\00"
@heal.text.calls = internal constant [59 x i8] c"set_cluster: a function by which ranks exchange is missing\00"
@heal.text.build = internal constant [56 x i8] c"set_cluster: rank %lld has another library than rank %d\00"
@heal.text.gather = internal constant [40 x i8] c"all_gather of the cluster returned %lld\00"
@heal.text.all = internal constant [40 x i8] c"all_to_all of the cluster returned %lld\00"
@heal.text.pair = internal constant [42 x i8] c"send_receive of the cluster returned %lld\00"

; The code of a failure of the exchange itself, with a message that shows two numbers.
define internal i32 @heal.apart(ptr %format, i64 %a, i32 %b) cold noinline {
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr %format, i64 %a, i32 %b)
  ret i32 11
}

; Tells the host that the call of this rank has failed, for which others may wait.
define internal void @heal.failed(i32 %code) cold noinline {
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  %size = load i32, ptr %size.at, align 4
  %many = icmp sgt i32 %size, 1
  br i1 %many, label %look, label %end
look:
  %abort.at = getelementptr i8, ptr @heal.cluster, i64 40
  %abort = load ptr, ptr %abort.at, align 8
  %none = icmp eq ptr %abort, null
  br i1 %none, label %end, label %tell
tell:
  %context = load ptr, ptr @heal.cluster, align 8
  call void %abort(ptr %context, i32 %code, ptr @heal.message)
  br label %end
end:
  ret void
}

define i32 @heal_set_cluster(ptr %c) {
entry:
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  store i32 0, ptr %size.at, align 4
  %alone = icmp eq ptr %c, null
  br i1 %alone, label %one, label %look
one:
  call void @llvm.memset.p0.i64(ptr @heal.cluster, i8 0, i64 48, i1 false)
  store i32 1, ptr %size.at, align 4
  ret i32 0
look:
  %rank.of = getelementptr i8, ptr %c, i64 8
  %rank = load i32, ptr %rank.of, align 4
  %size.of = getelementptr i8, ptr %c, i64 12
  %size = load i32, ptr %size.of, align 4
  %low = icmp slt i32 %rank, 0
  %high = icmp sge i32 %rank, %size
  %no = or i1 %low, %high
  br i1 %no, label %norank, label %sized
norank:
  %rank64 = sext i32 %rank to i64
  %c1 = call i32 @heal.apart(ptr @heal.text.rank, i64 %rank64, i32 %size)
  ret i32 2
sized:
  %coded = call i1 @heal.sized(i32 %size)
  br i1 %coded, label %calls, label %nocode
nocode:
  %size64 = sext i32 %size to i64
  %c2 = call i32 @heal.apart(ptr @heal.text.size, i64 %size64, i32 0)
  ret i32 11
calls:
  %gather.of = getelementptr i8, ptr %c, i64 16
  %gather = load ptr, ptr %gather.of, align 8
  %all.of = getelementptr i8, ptr %c, i64 24
  %all = load ptr, ptr %all.of, align 8
  %pair.of = getelementptr i8, ptr %c, i64 32
  %pair = load ptr, ptr %pair.of, align 8
  %nogather = icmp eq ptr %gather, null
  %noall = icmp eq ptr %all, null
  %nopair = icmp eq ptr %pair, null
  %no1 = or i1 %nogather, %noall
  %no2 = or i1 %no1, %nopair
  br i1 %no2, label %missing, label %meet
missing:
  %c3 = call i32 @heal.apart(ptr @heal.text.calls, i64 0, i32 0)
  ret i32 2
meet:
  call void @llvm.memcpy.p0.p0.i64(ptr @heal.cluster, ptr %c, i64 48, i1 false)
  store i32 0, ptr %size.at, align 4
  %n = zext i32 %size to i64
  %words = alloca i64, i64 %n, align 8
  %counts = alloca i64, i64 %n, align 8
  br label %fill
fill:
  %i = phi i64 [ 0, %meet ], [ %i1, %fill ]
  %w.at = getelementptr i64, ptr %words, i64 %i
  %own = load i64, ptr @heal.identity, align 8
  store i64 %own, ptr %w.at, align 8
  %n.at = getelementptr i64, ptr %counts, i64 %i
  store i64 8, ptr %n.at, align 8
  %i1 = add i64 %i, 1
  %filled = icmp eq i64 %i1, %n
  br i1 %filled, label %exchange, label %fill
exchange:
  %code = call i32 @heal.gather(ptr %words, ptr %counts)
  %bad = icmp ne i32 %code, 0
  br i1 %bad, label %fail, label %compare
fail:
  ret i32 %code
compare:
  %k = phi i64 [ 0, %exchange ], [ %k1, %next ]
  %k.at = getelementptr i64, ptr %words, i64 %k
  %theirs = load i64, ptr %k.at, align 8
  %other = icmp ne i64 %theirs, %own
  br i1 %other, label %differ, label %next
next:
  %k1 = add i64 %k, 1
  %compared = icmp eq i64 %k1, %n
  br i1 %compared, label %set, label %compare
differ:
  %c4 = call i32 @heal.apart(ptr @heal.text.build, i64 %k, i32 %rank)
  ret i32 %c4
set:
  store i32 %size, ptr %size.at, align 4
  ret i32 0
}

define internal i32 @heal.gather(ptr %all, ptr %counts) {
  %context = load ptr, ptr @heal.cluster, align 8
  %f.at = getelementptr i8, ptr @heal.cluster, i64 16
  %f = load ptr, ptr %f.at, align 8
  %r = call i32 %f(ptr %context, ptr %all, ptr %counts)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %end, label %fail
fail:
  %r64 = sext i32 %r to i64
  %code = call i32 @heal.apart(ptr @heal.text.gather, i64 %r64, i32 0)
  ret i32 %code
end:
  ret i32 0
}

define internal i32 @heal.all(ptr %send, ptr %to, ptr %receive, ptr %from) {
  %context = load ptr, ptr @heal.cluster, align 8
  %f.at = getelementptr i8, ptr @heal.cluster, i64 24
  %f = load ptr, ptr %f.at, align 8
  %r = call i32 %f(ptr %context, ptr %send, ptr %to, ptr %receive, ptr %from)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %end, label %fail
fail:
  %r64 = sext i32 %r to i64
  %code = call i32 @heal.apart(ptr @heal.text.all, i64 %r64, i32 0)
  ret i32 %code
end:
  ret i32 0
}

define internal i32 @heal.pair(ptr %send, i64 %bytes, i32 %to, ptr %receive, i64 %length, i32 %from) {
  %context = load ptr, ptr @heal.cluster, align 8
  %f.at = getelementptr i8, ptr @heal.cluster, i64 32
  %f = load ptr, ptr %f.at, align 8
  %r = call i32 %f(ptr %context, ptr %send, i64 %bytes, i32 %to, ptr %receive, i64 %length, i32 %from)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %end, label %fail
fail:
  %r64 = sext i32 %r to i64
  %code = call i32 @heal.apart(ptr @heal.text.pair, i64 %r64, i32 0)
  ret i32 %code
end:
  ret i32 0
}

; Copies boxes of bytes. Each is 17 words: where it begins in both, its 5 extents, and the strides of both.
define internal void @heal.moves(ptr %to, ptr %from, ptr %table, i64 %n) {
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %first = mul i64 %i, 17
  %m = getelementptr i64, ptr %table, i64 %first
  %a = load i64, ptr %m, align 8
  %b.at = getelementptr i64, ptr %m, i64 1
  %b = load i64, ptr %b.at, align 8
  %shape = getelementptr i64, ptr %m, i64 2
  %ts = getelementptr i64, ptr %m, i64 7
  %fs = getelementptr i64, ptr %m, i64 12
  %t = getelementptr i8, ptr %to, i64 %a
  %f = getelementptr i8, ptr %from, i64 %b
  call void @heal.copy(ptr %t, ptr %ts, ptr %f, ptr %fs, ptr %shape, i64 5, i64 1)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}

; Copies n runs of bytes, which begin at strides.
define internal void @heal.runs(ptr %to, i64 %ts, ptr %from, i64 %fs, i64 %n, i64 %bytes) {
entry:
  %none = icmp sle i64 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %a = mul i64 %i, %ts
  %b = mul i64 %i, %fs
  %t = getelementptr i8, ptr %to, i64 %a
  %f = getelementptr i8, ptr %from, i64 %b
  call void @llvm.memcpy.p0.p0.i64(ptr %t, ptr %f, i64 %bytes, i1 false)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}

; Gives every rank the elements of the axis from %at on, %size of them. %blocks has of each rank where its part begins
; and ends. %all is memory for as many bytes, which is %out where %outer is 1.
define internal i32 @heal.fetch(ptr %part, ptr %out, ptr %all, ptr %counts, ptr %blocks, i64 %at, i64 %size,
    i64 %outer, i64 %inner) {
entry:
  %rank.at = getelementptr i8, ptr @heal.cluster, i64 8
  %rank = load i32, ptr %rank.at, align 4
  %me = zext i32 %rank to i64
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  %ranks = load i32, ptr %size.at, align 4
  %n = zext i32 %ranks to i64
  %end = add i64 %at, %size
  br label %count
count:
  %r = phi i64 [ 0, %entry ], [ %r1, %counted ]
  %off = phi i64 [ 0, %entry ], [ %off1, %counted ]
  %r2 = mul i64 %r, 2
  %b.at = getelementptr i64, ptr %blocks, i64 %r2
  %first = load i64, ptr %b.at, align 8
  %l.at = getelementptr i64, ptr %b.at, i64 1
  %last = load i64, ptr %l.at, align 8
  %lo = call i64 @llvm.smax.i64(i64 %at, i64 %first)
  %hi0 = call i64 @llvm.smin.i64(i64 %end, i64 %last)
  %hi = call i64 @llvm.smax.i64(i64 %hi0, i64 %lo)
  %len = sub i64 %hi, %lo
  %run = mul i64 %len, %inner
  %bytes = mul i64 %run, %outer
  %c.at = getelementptr i64, ptr %counts, i64 %r
  store i64 %bytes, ptr %c.at, align 8
  %mine = icmp eq i64 %r, %me
  br i1 %mine, label %own, label %counted
own:
  %skip = sub i64 %lo, %first
  %skipped = mul i64 %skip, %inner
  %src = getelementptr i8, ptr %part, i64 %skipped
  %dst = getelementptr i8, ptr %all, i64 %off
  %have = sub i64 %last, %first
  %row = mul i64 %have, %inner
  call void @heal.runs(ptr %dst, i64 %run, ptr %src, i64 %row, i64 %outer, i64 %run)
  br label %counted
counted:
  %off1 = add i64 %off, %bytes
  %r1 = add i64 %r, 1
  %done = icmp eq i64 %r1, %n
  br i1 %done, label %exchange, label %count
exchange:
  %code = call i32 @heal.gather(ptr %all, ptr %counts)
  %bad = icmp ne i32 %code, 0
  %there = icmp eq ptr %all, %out
  %leave = or i1 %bad, %there
  br i1 %leave, label %return, label %place
place:
  %q = phi i64 [ 0, %exchange ], [ %q1, %place ]
  %from = phi i64 [ 0, %exchange ], [ %from1, %place ]
  %put = phi i64 [ 0, %exchange ], [ %put1, %place ]
  %qc.at = getelementptr i64, ptr %counts, i64 %q
  %qbytes = load i64, ptr %qc.at, align 8
  %qrun = sdiv i64 %qbytes, %outer
  %qsrc = getelementptr i8, ptr %all, i64 %from
  %qdst = getelementptr i8, ptr %out, i64 %put
  %whole = mul i64 %size, %inner
  call void @heal.runs(ptr %qdst, i64 %whole, ptr %qsrc, i64 %qrun, i64 %outer, i64 %qrun)
  %from1 = add i64 %from, %qbytes
  %put1 = add i64 %put, %qrun
  %q1 = add i64 %q, 1
  %placed = icmp eq i64 %q1, %n
  br i1 %placed, label %return, label %place
return:
  ret i32 %code
}

; A position of a list, of %width bytes: 4 or 8.
define internal i64 @heal.position(ptr %list, i64 %width, i64 %i) alwaysinline {
entry:
  %offset = mul i64 %i, %width
  %at = getelementptr i8, ptr %list, i64 %offset
  %is4 = icmp eq i64 %width, 4
  br i1 %is4, label %four, label %eight
four:
  %v4 = load i32, ptr %at, align 4
  %w4 = zext i32 %v4 to i64
  ret i64 %w4
eight:
  %v8 = load i64, ptr %at, align 8
  ret i64 %v8
}

; Gives a rank the rows of %inner bytes at %n positions, of %width bytes, of an axis that is cut into blocks, of which
; this rank's begins at %first: it asks those who have them.
define internal i32 @heal.ask(ptr %part, ptr %at, i64 %width, i64 %n, ptr %out, i64 %block, i64 %first, i64 %inner) {
entry:
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  %ranks32 = load i32, ptr %size.at, align 4
  %ranks = zext i32 %ranks32 to i64
  ; Of each rank: how many rows it is asked for, how many it asks for, 8, the bytes to it and from it, and where what it
  ; is asked for begins. Behind these the positions by rank, and to which row of the result each belongs.
  %six = mul i64 %ranks, 6
  %two = mul i64 %n, 2
  %words = add i64 %six, %two
  %bytes = mul i64 %words, 8
  %asked = call ptr @heal.take(i64 %bytes)
  %none = icmp eq ptr %asked, null
  br i1 %none, label %nomemory, label %begin
nomemory:
  %m1 = call i32 @heal.memory(i64 %bytes)
  ret i32 %m1
begin:
  %others = getelementptr i64, ptr %asked, i64 %ranks
  %eights = getelementptr i64, ptr %others, i64 %ranks
  %to = getelementptr i64, ptr %eights, i64 %ranks
  %from = getelementptr i64, ptr %to, i64 %ranks
  %place = getelementptr i64, ptr %from, i64 %ranks
  %positions = getelementptr i64, ptr %place, i64 %ranks
  %rows = getelementptr i64, ptr %positions, i64 %n
  br label %zero
zero:
  %z = phi i64 [ 0, %begin ], [ %z1, %zero ]
  %za = getelementptr i64, ptr %asked, i64 %z
  store i64 0, ptr %za, align 8
  %ze = getelementptr i64, ptr %eights, i64 %z
  store i64 8, ptr %ze, align 8
  %z1 = add i64 %z, 1
  %zeroed = icmp eq i64 %z1, %ranks
  br i1 %zeroed, label %counts, label %zero
counts:
  %i = phi i64 [ 0, %zero ], [ %i1, %count ]
  %all = icmp eq i64 %i, %n
  br i1 %all, label %offsets, label %count
count:
  %p = call i64 @heal.position(ptr %at, i64 %width, i64 %i)
  %r = udiv i64 %p, %block
  %a.at = getelementptr i64, ptr %asked, i64 %r
  %a = load i64, ptr %a.at, align 8
  %a1 = add i64 %a, 1
  store i64 %a1, ptr %a.at, align 8
  %i1 = add i64 %i, 1
  br label %counts
offsets:
  %o = phi i64 [ 0, %counts ], [ %o1, %offsets ]
  %sum = phi i64 [ 0, %counts ], [ %sum1, %offsets ]
  %pl = getelementptr i64, ptr %place, i64 %o
  store i64 %sum, ptr %pl, align 8
  %oa = getelementptr i64, ptr %asked, i64 %o
  %on = load i64, ptr %oa, align 8
  %sum1 = add i64 %sum, %on
  %o1 = add i64 %o, 1
  %placed = icmp eq i64 %o1, %ranks
  br i1 %placed, label %sorts, label %offsets
sorts:
  %j = phi i64 [ 0, %offsets ], [ %j1, %sort ]
  %sorted = icmp eq i64 %j, %n
  br i1 %sorted, label %say, label %sort
sort:
  %jp = call i64 @heal.position(ptr %at, i64 %width, i64 %j)
  %jr = udiv i64 %jp, %block
  %jl = getelementptr i64, ptr %place, i64 %jr
  %k = load i64, ptr %jl, align 8
  %k1 = add i64 %k, 1
  store i64 %k1, ptr %jl, align 8
  %pos.at = getelementptr i64, ptr %positions, i64 %k
  store i64 %jp, ptr %pos.at, align 8
  %row.at = getelementptr i64, ptr %rows, i64 %k
  store i64 %j, ptr %row.at, align 8
  %j1 = add i64 %j, 1
  br label %sorts
say:
  %c1 = call i32 @heal.all(ptr %asked, ptr %eights, ptr %others, ptr %eights)
  %bad1 = icmp ne i32 %c1, 0
  br i1 %bad1, label %leave, label %sizes
sizes:
  %s = phi i64 [ 0, %say ], [ %s1, %sizes ]
  %total = phi i64 [ 0, %say ], [ %total1, %sizes ]
  %sa.at = getelementptr i64, ptr %asked, i64 %s
  %sa = load i64, ptr %sa.at, align 8
  %sa8 = mul i64 %sa, 8
  %st.at = getelementptr i64, ptr %to, i64 %s
  store i64 %sa8, ptr %st.at, align 8
  %so.at = getelementptr i64, ptr %others, i64 %s
  %so = load i64, ptr %so.at, align 8
  %so8 = mul i64 %so, 8
  %sf.at = getelementptr i64, ptr %from, i64 %s
  store i64 %so8, ptr %sf.at, align 8
  %total1 = add i64 %total, %so
  %s1 = add i64 %s, 1
  %sized = icmp eq i64 %s1, %ranks
  br i1 %sized, label %room, label %sizes
room:
  %wanted.bytes = mul i64 %total1, 8
  %reply.bytes = mul i64 %total1, %inner
  %got.bytes = mul i64 %n, %inner
  %two.bytes = add i64 %wanted.bytes, %reply.bytes
  %room.bytes = add i64 %two.bytes, %got.bytes
  %wanted = call ptr @heal.take(i64 %room.bytes)
  %noroom = icmp eq ptr %wanted, null
  br i1 %noroom, label %full, label %ask
full:
  call void @heal.give(ptr %asked)
  %m2 = call i32 @heal.memory(i64 %room.bytes)
  ret i32 %m2
ask:
  %reply = getelementptr i8, ptr %wanted, i64 %wanted.bytes
  %got = getelementptr i8, ptr %reply, i64 %reply.bytes
  %c2 = call i32 @heal.all(ptr %positions, ptr %to, ptr %wanted, ptr %from)
  %bad2 = icmp ne i32 %c2, 0
  br i1 %bad2, label %back, label %answers
answers:
  %w = phi i64 [ 0, %ask ], [ %w1, %answer ]
  %answered = icmp eq i64 %w, %total1
  br i1 %answered, label %lengths, label %answer
answer:
  %w.at = getelementptr i64, ptr %wanted, i64 %w
  %wp = load i64, ptr %w.at, align 8
  %wi = sub i64 %wp, %first
  %woff = mul i64 %wi, %inner
  %wsrc = getelementptr i8, ptr %part, i64 %woff
  %wput = mul i64 %w, %inner
  %wdst = getelementptr i8, ptr %reply, i64 %wput
  call void @llvm.memcpy.p0.p0.i64(ptr %wdst, ptr %wsrc, i64 %inner, i1 false)
  %w1 = add i64 %w, 1
  br label %answers
lengths:
  %l = phi i64 [ 0, %answers ], [ %l1, %lengths ]
  %la.at = getelementptr i64, ptr %asked, i64 %l
  %la = load i64, ptr %la.at, align 8
  %lab = mul i64 %la, %inner
  store i64 %lab, ptr %la.at, align 8
  %lo.at = getelementptr i64, ptr %others, i64 %l
  %lo = load i64, ptr %lo.at, align 8
  %lob = mul i64 %lo, %inner
  store i64 %lob, ptr %lo.at, align 8
  %l1 = add i64 %l, 1
  %known = icmp eq i64 %l1, %ranks
  br i1 %known, label %reply.all, label %lengths
reply.all:
  %c3 = call i32 @heal.all(ptr %reply, ptr %others, ptr %got, ptr %asked)
  %bad3 = icmp ne i32 %c3, 0
  br i1 %bad3, label %back, label %places
places:
  %g = phi i64 [ 0, %reply.all ], [ %g1, %put ]
  %done = icmp eq i64 %g, %n
  br i1 %done, label %back, label %put
put:
  %grow.at = getelementptr i64, ptr %rows, i64 %g
  %grow = load i64, ptr %grow.at, align 8
  %gput = mul i64 %grow, %inner
  %gdst = getelementptr i8, ptr %out, i64 %gput
  %goff = mul i64 %g, %inner
  %gsrc = getelementptr i8, ptr %got, i64 %goff
  call void @llvm.memcpy.p0.p0.i64(ptr %gdst, ptr %gsrc, i64 %inner, i1 false)
  %g1 = add i64 %g, 1
  br label %places
back:
  %c4 = phi i32 [ %c2, %ask ], [ %c3, %reply.all ], [ 0, %places ]
  call void @heal.give(ptr %wanted)
  br label %leave
leave:
  %c5 = phi i32 [ %c1, %say ], [ %c4, %back ]
  call void @heal.give(ptr %asked)
  ret i32 %c5
}

; ---- Sorts along an axis that is cut. Each rank has sorted its part, and gets what belongs into its block. Where a block
; begins in the part of each rank is found bit by bit: the key of the element there is the largest of which no more keys
; are below than there are elements before the block. All ranks find all of it, by the counts of all. Equal elements come
; in the order of the ranks.

; A number by which an element of %bytes sorts, as DType.SortKey: 0 is unsigned, 1 signed, 2 floats whose infinity is %inf.
define internal i64 @heal.key(ptr %at, i64 %bytes, i64 %kind, i64 %inf) {
entry:
  switch i64 %bytes, label %l8 [
    i64 1, label %l1
    i64 2, label %l2
    i64 4, label %l4
  ]
l1:
  %v1 = load i8, ptr %at, align 1
  %w1 = zext i8 %v1 to i64
  br label %have
l2:
  %v2 = load i16, ptr %at, align 2
  %w2 = zext i16 %v2 to i64
  br label %have
l4:
  %v4 = load i32, ptr %at, align 4
  %w4 = zext i32 %v4 to i64
  br label %have
l8:
  %w8 = load i64, ptr %at, align 8
  br label %have
have:
  %x = phi i64 [ %w1, %l1 ], [ %w2, %l2 ], [ %w4, %l4 ], [ %w8, %l8 ]
  %bits = mul i64 %bytes, 8
  %last = sub i64 %bits, 1
  %top = shl i64 1, %last
  %rest = sub i64 %top, 1
  %all = or i64 %top, %rest
  %signed = xor i64 %x, %top
  %abs = and i64 %x, %rest
  %nan = icmp ugt i64 %abs, %inf
  %zero = icmp eq i64 %abs, 0
  %minus = icmp ne i64 %x, %abs
  %turned = xor i64 %x, %all
  %up = or i64 %x, %top
  %f1 = select i1 %minus, i64 %turned, i64 %up
  %f2 = select i1 %zero, i64 %top, i64 %f1
  %f3 = select i1 %nan, i64 %all, i64 %f2
  %isf = icmp eq i64 %kind, 2
  %iss = icmp eq i64 %kind, 1
  %r1 = select i1 %iss, i64 %signed, i64 %x
  %r2 = select i1 %isf, i64 %f3, i64 %r1
  ret i64 %r2
}

; Counts for each splitter and row how many keys of this rank's part are below a key: %keys with the bit %bit, or where
; that is 0 itself, or above it where %bit is -1. Then every rank gets those of all, %m of each, behind one another.
define internal i32 @heal.counts(ptr %part, i64 %rows, i64 %mine, i64 %bytes, i64 %kind, i64 %inf, ptr %keys, i64 %bit,
    ptr %all, ptr %lengths) {
entry:
  %rank.at = getelementptr i8, ptr @heal.cluster, i64 8
  %rank = load i32, ptr %rank.at, align 4
  %me = zext i32 %rank to i64
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  %ranks = load i32, ptr %size.at, align 4
  %n = zext i32 %ranks to i64
  %less = sub i64 %n, 1
  %m = mul i64 %less, %rows
  %before = mul i64 %me, %m
  %own = getelementptr i64, ptr %all, i64 %before
  %above = icmp eq i64 %bit, -1
  %with = select i1 %above, i64 0, i64 %bit
  br label %next
next:
  %c = phi i64 [ 0, %entry ], [ %c1, %found ]
  %done = icmp eq i64 %c, %m
  br i1 %done, label %exchange, label %one
one:
  %k.at = getelementptr i64, ptr %keys, i64 %c
  %k0 = load i64, ptr %k.at, align 8
  %k = or i64 %k0, %with
  %row = urem i64 %c, %rows
  %first = mul i64 %row, %mine
  br label %search
search:
  %lo = phi i64 [ 0, %one ], [ %lo1, %step ]
  %hi = phi i64 [ %mine, %one ], [ %hi1, %step ]
  %open = icmp slt i64 %lo, %hi
  br i1 %open, label %step, label %found
step:
  %sum = add i64 %lo, %hi
  %mid = lshr i64 %sum, 1
  %i = add i64 %first, %mid
  %off = mul i64 %i, %bytes
  %at = getelementptr i8, ptr %part, i64 %off
  %key = call i64 @heal.key(ptr %at, i64 %bytes, i64 %kind, i64 %inf)
  %below = icmp ult i64 %key, %k
  %equal = icmp eq i64 %key, %k
  %too = and i1 %equal, %above
  %counted = or i1 %below, %too
  %mid1 = add i64 %mid, 1
  %lo1 = select i1 %counted, i64 %mid1, i64 %lo
  %hi1 = select i1 %counted, i64 %hi, i64 %mid
  br label %search
found:
  %put = getelementptr i64, ptr %own, i64 %c
  store i64 %lo, ptr %put, align 8
  %c1 = add i64 %c, 1
  br label %next
exchange:
  %code = call i32 @heal.gather(ptr %all, ptr %lengths)
  ret i32 %code
}

; Where each block begins in the part of each rank: %split has of block d, of row k, of rank r word (d * rows + k) * ranks
; + r, for one block more than there are ranks. %table has of each rank where its block begins, and how many elements it
; has; %room is memory for 2 * ranks * m + m + ranks words, where m is (ranks - 1) * rows.
define internal i32 @heal.split(ptr %part, i64 %rows, i64 %mine, i64 %bytes, i64 %kind, i64 %inf, ptr %table, ptr %split,
    ptr %room) {
entry:
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  %ranks = load i32, ptr %size.at, align 4
  %n = zext i32 %ranks to i64
  %less1 = sub i64 %n, 1
  %m = mul i64 %less1, %rows
  %nm = mul i64 %n, %m
  %all = getelementptr i64, ptr %room, i64 0
  %less = getelementptr i64, ptr %all, i64 %nm
  %keys = getelementptr i64, ptr %less, i64 %nm
  %lengths = getelementptr i64, ptr %keys, i64 %m
  %m8 = mul i64 %m, 8
  call void @llvm.memset.p0.i64(ptr %keys, i8 0, i64 %m8, i1 false)
  br label %set
set:
  %q = phi i64 [ 0, %entry ], [ %q1, %set ]
  %len.at = getelementptr i64, ptr %lengths, i64 %q
  store i64 %m8, ptr %len.at, align 8
  %q1 = add i64 %q, 1
  %isset = icmp eq i64 %q1, %n
  br i1 %isset, label %bits, label %set
bits:
  %width = mul i64 %bytes, 8
  %from = sub i64 %width, 1
  %top = shl i64 1, %from
  br label %round
round:
  %bit = phi i64 [ %top, %bits ], [ %bit1, %narrowed ]
  %code = call i32 @heal.counts(ptr %part, i64 %rows, i64 %mine, i64 %bytes, i64 %kind, i64 %inf, ptr %keys, i64 %bit,
      ptr %all, ptr %lengths)
  %bad = icmp ne i32 %code, 0
  br i1 %bad, label %fail, label %narrow
narrow:
  %c = phi i64 [ 0, %round ], [ %c1, %decided ]
  %through = icmp eq i64 %c, %m
  br i1 %through, label %narrowed, label %add
add:
  %r = phi i64 [ 0, %narrow ], [ %r1, %add ]
  %sum = phi i64 [ 0, %narrow ], [ %sum1, %add ]
  %rm = mul i64 %r, %m
  %rc = add i64 %rm, %c
  %n.at = getelementptr i64, ptr %all, i64 %rc
  %has = load i64, ptr %n.at, align 8
  %sum1 = add i64 %sum, %has
  %r1 = add i64 %r, 1
  %added = icmp eq i64 %r1, %n
  br i1 %added, label %decide, label %add
decide:
  %d0 = udiv i64 %c, %rows
  %d = add i64 %d0, 1
  %d2 = mul i64 %d, 2
  %want.at = getelementptr i64, ptr %table, i64 %d2
  %want = load i64, ptr %want.at, align 8
  %fits = icmp sle i64 %sum1, %want
  %key.at = getelementptr i64, ptr %keys, i64 %c
  %key = load i64, ptr %key.at, align 8
  %more = or i64 %key, %bit
  %chosen = select i1 %fits, i64 %more, i64 %key
  store i64 %chosen, ptr %key.at, align 8
  br label %decided
decided:
  %c1 = add i64 %c, 1
  br label %narrow
narrowed:
  %bit1 = lshr i64 %bit, 1
  %last = icmp eq i64 %bit1, 0
  br i1 %last, label %below, label %round
below:
  %code2 = call i32 @heal.counts(ptr %part, i64 %rows, i64 %mine, i64 %bytes, i64 %kind, i64 %inf, ptr %keys, i64 0,
      ptr %all, ptr %lengths)
  %bad2 = icmp ne i32 %code2, 0
  br i1 %bad2, label %fail, label %above
above:
  %nm8 = mul i64 %nm, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %less, ptr %all, i64 %nm8, i1 false)
  %code3 = call i32 @heal.counts(ptr %part, i64 %rows, i64 %mine, i64 %bytes, i64 %kind, i64 %inf, ptr %keys, i64 -1,
      ptr %all, ptr %lengths)
  %bad3 = icmp ne i32 %code3, 0
  br i1 %bad3, label %fail, label %ends
ends:
  ; Before the first block nothing comes, and before the one behind the last everything.
  %e = phi i64 [ 0, %above ], [ %e1, %ends ]
  %rn = mul i64 %rows, %n
  %er = urem i64 %e, %n
  %none.at = getelementptr i64, ptr %split, i64 %e
  store i64 0, ptr %none.at, align 8
  %behind = mul i64 %n, %rn
  %ee = add i64 %behind, %e
  %end.at = getelementptr i64, ptr %split, i64 %ee
  %er2 = mul i64 %er, 2
  %er3 = add i64 %er2, 1
  %have.at = getelementptr i64, ptr %table, i64 %er3
  %have = load i64, ptr %have.at, align 8
  store i64 %have, ptr %end.at, align 8
  %e1 = add i64 %e, 1
  %ended = icmp eq i64 %e1, %rn
  br i1 %ended, label %place, label %ends
place:
  %p = phi i64 [ 0, %ends ], [ %p1, %placed ]
  %finished = icmp eq i64 %p, %m
  br i1 %finished, label %end, label %total
total:
  %t = phi i64 [ 0, %place ], [ %t1, %total ]
  %tsum = phi i64 [ 0, %place ], [ %tsum1, %total ]
  %tm = mul i64 %t, %m
  %tp = add i64 %tm, %p
  %tl.at = getelementptr i64, ptr %less, i64 %tp
  %tl = load i64, ptr %tl.at, align 8
  %tsum1 = add i64 %tsum, %tl
  %t1 = add i64 %t, 1
  %totalled = icmp eq i64 %t1, %n
  br i1 %totalled, label %rest, label %total
rest:
  %pd0 = udiv i64 %p, %rows
  %pd = add i64 %pd0, 1
  %pd2 = mul i64 %pd, 2
  %pwant.at = getelementptr i64, ptr %table, i64 %pd2
  %pwant = load i64, ptr %pwant.at, align 8
  %left0 = sub i64 %pwant, %tsum1
  %prows = add i64 %p, %rows
  %pfirst = mul i64 %prows, %n
  br label %give
give:
  %g = phi i64 [ 0, %rest ], [ %g1, %give ]
  %left = phi i64 [ %left0, %rest ], [ %left1, %give ]
  %gm = mul i64 %g, %m
  %gp = add i64 %gm, %p
  %gl.at = getelementptr i64, ptr %less, i64 %gp
  %gl = load i64, ptr %gl.at, align 8
  %gu.at = getelementptr i64, ptr %all, i64 %gp
  %gu = load i64, ptr %gu.at, align 8
  %same = sub i64 %gu, %gl
  %taken = call i64 @llvm.smin.i64(i64 %same, i64 %left)
  %cut = add i64 %gl, %taken
  %gi = add i64 %pfirst, %g
  %gs.at = getelementptr i64, ptr %split, i64 %gi
  store i64 %cut, ptr %gs.at, align 8
  %left1 = sub i64 %left, %taken
  %g1 = add i64 %g, 1
  %given = icmp eq i64 %g1, %n
  br i1 %given, label %placed, label %give
placed:
  %p1 = add i64 %p, 1
  br label %place
fail:
  %why = phi i32 [ %code, %round ], [ %code2, %below ], [ %code3, %above ]
  ret i32 %why
end:
  ret i32 0
}

; Moves a column by the splitters, unless something has failed before. %room is memory for 2 * ranks + rows words and twice
; the part.
define internal i32 @heal.column(i32 %before, ptr %part, ptr %out, i64 %rows, i64 %mine, i64 %bytes, ptr %split,
    ptr %room) {
entry:
  %well = icmp eq i32 %before, 0
  br i1 %well, label %begin, label %leave
leave:
  ret i32 %before
begin:
  %rank.at = getelementptr i8, ptr @heal.cluster, i64 8
  %rank = load i32, ptr %rank.at, align 4
  %me = zext i32 %rank to i64
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  %ranks = load i32, ptr %size.at, align 4
  %n = zext i32 %ranks to i64
  %to = getelementptr i64, ptr %room, i64 0
  %from = getelementptr i64, ptr %to, i64 %n
  %put.in = getelementptr i64, ptr %from, i64 %n
  %send = getelementptr i64, ptr %put.in, i64 %rows
  %elements = mul i64 %rows, %mine
  %size = mul i64 %elements, %bytes
  %receive = getelementptr i8, ptr %send, i64 %size
  %rn = mul i64 %rows, %n
  br label %rank0
rank0:
  %r = phi i64 [ 0, %begin ], [ %r1, %rank1 ]
  %at = phi i64 [ 0, %begin ], [ %put1, %rank1 ]
  %sent0 = mul i64 %r, %rn
  br label %row0
row0:
  %k = phi i64 [ 0, %rank0 ], [ %k1, %row0 ]
  %put = phi i64 [ %at, %rank0 ], [ %put1, %row0 ]
  %got = phi i64 [ 0, %rank0 ], [ %got1, %row0 ]
  ; What goes to rank r begins and ends in the part of this rank with block r.
  %kn = mul i64 %k, %n
  %i0 = add i64 %sent0, %kn
  %i1 = add i64 %i0, %me
  %lo.at = getelementptr i64, ptr %split, i64 %i1
  %lo = load i64, ptr %lo.at, align 8
  %i2 = add i64 %i1, %rn
  %hi.at = getelementptr i64, ptr %split, i64 %i2
  %hi = load i64, ptr %hi.at, align 8
  %len = sub i64 %hi, %lo
  %run = mul i64 %len, %bytes
  %first = mul i64 %k, %mine
  %e = add i64 %first, %lo
  %eb = mul i64 %e, %bytes
  %src = getelementptr i8, ptr %part, i64 %eb
  %dst = getelementptr i8, ptr %send, i64 %put
  call void @llvm.memcpy.p0.p0.i64(ptr %dst, ptr %src, i64 %run, i1 false)
  %put1 = add i64 %put, %run
  ; What comes from rank r begins and ends in its part with the block of this rank.
  %mb = mul i64 %me, %rn
  %j0 = add i64 %mb, %kn
  %j1 = add i64 %j0, %r
  %glo.at = getelementptr i64, ptr %split, i64 %j1
  %glo = load i64, ptr %glo.at, align 8
  %j2 = add i64 %j1, %rn
  %ghi.at = getelementptr i64, ptr %split, i64 %j2
  %ghi = load i64, ptr %ghi.at, align 8
  %glen = sub i64 %ghi, %glo
  %gbytes = mul i64 %glen, %bytes
  %got1 = add i64 %got, %gbytes
  %k1 = add i64 %k, 1
  %rowed = icmp eq i64 %k1, %rows
  br i1 %rowed, label %rank1, label %row0
rank1:
  %sends = sub i64 %put1, %at
  %to.at = getelementptr i64, ptr %to, i64 %r
  store i64 %sends, ptr %to.at, align 8
  %from.at = getelementptr i64, ptr %from, i64 %r
  store i64 %got1, ptr %from.at, align 8
  %r1 = add i64 %r, 1
  %ranked = icmp eq i64 %r1, %n
  br i1 %ranked, label %exchange, label %rank0
exchange:
  %code = call i32 @heal.all(ptr %send, ptr %to, ptr %receive, ptr %from)
  %bad = icmp ne i32 %code, 0
  br i1 %bad, label %fail, label %unpack
fail:
  ret i32 %code
unpack:
  %rows8 = mul i64 %rows, 8
  call void @llvm.memset.p0.i64(ptr %put.in, i8 0, i64 %rows8, i1 false)
  br label %urank
urank:
  %v = phi i64 [ 0, %unpack ], [ %v1, %ranked1 ]
  %pos = phi i64 [ 0, %unpack ], [ %pos1, %ranked1 ]
  br label %urow
urow:
  %u = phi i64 [ 0, %urank ], [ %u1, %urow ]
  %p = phi i64 [ %pos, %urank ], [ %pos1, %urow ]
  %un = mul i64 %u, %n
  %ub = mul i64 %me, %rn
  %u0 = add i64 %ub, %un
  %ui = add i64 %u0, %v
  %ulo.at = getelementptr i64, ptr %split, i64 %ui
  %ulo = load i64, ptr %ulo.at, align 8
  %uj = add i64 %ui, %rn
  %uhi.at = getelementptr i64, ptr %split, i64 %uj
  %uhi = load i64, ptr %uhi.at, align 8
  %ulen = sub i64 %uhi, %ulo
  %ubytes = mul i64 %ulen, %bytes
  %in.at = getelementptr i64, ptr %put.in, i64 %u
  %in = load i64, ptr %in.at, align 8
  %ufirst = mul i64 %u, %mine
  %ue = add i64 %ufirst, %in
  %ueb = mul i64 %ue, %bytes
  %udst = getelementptr i8, ptr %out, i64 %ueb
  %usrc = getelementptr i8, ptr %receive, i64 %p
  call void @llvm.memcpy.p0.p0.i64(ptr %udst, ptr %usrc, i64 %ubytes, i1 false)
  %in1 = add i64 %in, %ulen
  store i64 %in1, ptr %in.at, align 8
  %pos1 = add i64 %p, %ubytes
  %u1 = add i64 %u, 1
  %urowed = icmp eq i64 %u1, %rows
  br i1 %urowed, label %ranked1, label %urow
ranked1:
  %v1 = add i64 %v, 1
  %vdone = icmp eq i64 %v1, %n
  br i1 %vdone, label %end, label %urank
end:
  ret i32 0
}

; ---- What is added at positions of an axis that is cut: to each rank from all in order, in rounds of %size at most.

; Counts how many of %n positions each rank has, and how many of those of each rank this one has. %eights is the lengths
; of such counts.
define internal i32 @heal.owners(ptr %at, i64 %n, i64 %block, i64 %ranks, ptr %have, ptr %theirs, ptr %eights) {
entry:
  br label %zero
zero:
  %z = phi i64 [ 0, %entry ], [ %z1, %zero ]
  %z.at = getelementptr i64, ptr %have, i64 %z
  store i64 0, ptr %z.at, align 8
  %e.at = getelementptr i64, ptr %eights, i64 %z
  store i64 8, ptr %e.at, align 8
  %z1 = add i64 %z, 1
  %zeroed = icmp eq i64 %z1, %ranks
  br i1 %zeroed, label %next, label %zero
next:
  %i = phi i64 [ 0, %zero ], [ %i1, %count ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %exchange, label %count
count:
  %p.at = getelementptr i64, ptr %at, i64 %i
  %p = load i64, ptr %p.at, align 8
  %r = udiv i64 %p, %block
  %h.at = getelementptr i64, ptr %have, i64 %r
  %h = load i64, ptr %h.at, align 8
  %h1 = add i64 %h, 1
  store i64 %h1, ptr %h.at, align 8
  %i1 = add i64 %i, 1
  br label %next
exchange:
  %code = call i32 @heal.all(ptr %have, ptr %eights, ptr %theirs, ptr %eights)
  ret i32 %code
}

; How many rounds there are. %room is memory for 4 * ranks words.
define internal i32 @heal.rounds(ptr %at, i64 %n, i64 %block, i64 %size, ptr %out, ptr %room) {
entry:
  %rank.at = getelementptr i8, ptr @heal.cluster, i64 8
  %rank = load i32, ptr %rank.at, align 4
  %me = zext i32 %rank to i64
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  %ranks32 = load i32, ptr %size.at, align 4
  %ranks = zext i32 %ranks32 to i64
  %have = getelementptr i64, ptr %room, i64 0
  %theirs = getelementptr i64, ptr %have, i64 %ranks
  %eights = getelementptr i64, ptr %theirs, i64 %ranks
  %totals = getelementptr i64, ptr %eights, i64 %ranks
  %code = call i32 @heal.owners(ptr %at, i64 %n, i64 %block, i64 %ranks, ptr %have, ptr %theirs, ptr %eights)
  %bad = icmp ne i32 %code, 0
  br i1 %bad, label %fail, label %add
add:
  %r = phi i64 [ 0, %entry ], [ %r1, %add ]
  %sum = phi i64 [ 0, %entry ], [ %sum1, %add ]
  %t.at = getelementptr i64, ptr %theirs, i64 %r
  %t = load i64, ptr %t.at, align 8
  %sum1 = add i64 %sum, %t
  %r1 = add i64 %r, 1
  %added = icmp eq i64 %r1, %ranks
  br i1 %added, label %tell, label %add
tell:
  %own = getelementptr i64, ptr %totals, i64 %me
  store i64 %sum1, ptr %own, align 8
  %code2 = call i32 @heal.gather(ptr %totals, ptr %eights)
  %bad2 = icmp ne i32 %code2, 0
  br i1 %bad2, label %fail, label %most
most:
  %q = phi i64 [ 0, %tell ], [ %q1, %most ]
  %max = phi i64 [ 0, %tell ], [ %max1, %most ]
  %q.at = getelementptr i64, ptr %totals, i64 %q
  %v = load i64, ptr %q.at, align 8
  %max1 = call i64 @llvm.smax.i64(i64 %max, i64 %v)
  %q1 = add i64 %q, 1
  %known = icmp eq i64 %q1, %ranks
  br i1 %known, label %end, label %most
end:
  %less = sub i64 %size, 1
  %up = add i64 %max1, %less
  %rounds = sdiv i64 %up, %size
  %rounds32 = trunc i64 %rounds to i32
  store i32 %rounds32, ptr %out, align 4
  ret i32 0
fail:
  %why = phi i32 [ %code, %entry ], [ %code2, %tell ]
  ret i32 %why
}

; Gives this rank what is added to its part in a round: positions in its part, which has %mine elements and begins at
; %first, and values of %width bytes; behind them zeros, for the position behind its part. %room is memory for 11 * ranks
; words, and for %n and %size pairs of a position and a value.
define internal i32 @heal.updates(ptr %at, i64 %n, ptr %values, i64 %width, i64 %block, i64 %first, i64 %mine, i64 %size,
    i32 %number, ptr %to.at, ptr %to, ptr %room) {
entry:
  %size.at = getelementptr i8, ptr @heal.cluster, i64 12
  %ranks32 = load i32, ptr %size.at, align 4
  %ranks = zext i32 %ranks32 to i64
  %have = getelementptr i64, ptr %room, i64 0
  %theirs = getelementptr i64, ptr %have, i64 %ranks
  %eights = getelementptr i64, ptr %theirs, i64 %ranks
  %firsts = getelementptr i64, ptr %eights, i64 %ranks
  %ends = getelementptr i64, ptr %firsts, i64 %ranks
  %from = getelementptr i64, ptr %ends, i64 %ranks
  %until = getelementptr i64, ptr %from, i64 %ranks
  %sends = getelementptr i64, ptr %until, i64 %ranks
  %receives = getelementptr i64, ptr %sends, i64 %ranks
  %starts = getelementptr i64, ptr %receives, i64 %ranks
  %seen = getelementptr i64, ptr %starts, i64 %ranks
  %send = getelementptr i64, ptr %seen, i64 %ranks
  %pair = add i64 %width, 8
  %sent = mul i64 %n, %pair
  %receive = getelementptr i8, ptr %send, i64 %sent
  %round = sext i32 %number to i64
  %begin = mul i64 %round, %size
  %stop = add i64 %begin, %size
  %code = call i32 @heal.owners(ptr %at, i64 %n, i64 %block, i64 %ranks, ptr %have, ptr %theirs, ptr %eights)
  %bad = icmp ne i32 %code, 0
  br i1 %bad, label %fail, label %runs
runs:
  ; Of those that a rank has for this one, in its order, this one gets a run in this round.
  %r = phi i64 [ 0, %entry ], [ %r1, %runs ]
  %before = phi i64 [ 0, %entry ], [ %before1, %runs ]
  %k.at = getelementptr i64, ptr %theirs, i64 %r
  %k = load i64, ptr %k.at, align 8
  %a0 = sub i64 %begin, %before
  %a1 = call i64 @llvm.smax.i64(i64 %a0, i64 0)
  %a = call i64 @llvm.smin.i64(i64 %a1, i64 %k)
  %b0 = sub i64 %stop, %before
  %b1 = call i64 @llvm.smax.i64(i64 %b0, i64 0)
  %b = call i64 @llvm.smin.i64(i64 %b1, i64 %k)
  %f.at = getelementptr i64, ptr %firsts, i64 %r
  store i64 %a, ptr %f.at, align 8
  %e.at = getelementptr i64, ptr %ends, i64 %r
  store i64 %b, ptr %e.at, align 8
  %len = sub i64 %b, %a
  %bytes = mul i64 %len, %pair
  %rec.at = getelementptr i64, ptr %receives, i64 %r
  store i64 %bytes, ptr %rec.at, align 8
  %before1 = add i64 %before, %k
  %r1 = add i64 %r, 1
  %run = icmp eq i64 %r1, %ranks
  br i1 %run, label %ask, label %runs
ask:
  %code2 = call i32 @heal.all(ptr %firsts, ptr %eights, ptr %from, ptr %eights)
  %bad2 = icmp ne i32 %code2, 0
  br i1 %bad2, label %fail, label %ask2
ask2:
  %code3 = call i32 @heal.all(ptr %ends, ptr %eights, ptr %until, ptr %eights)
  %bad3 = icmp ne i32 %code3, 0
  br i1 %bad3, label %fail, label %lengths
lengths:
  %q = phi i64 [ 0, %ask2 ], [ %q1, %lengths ]
  %start = phi i64 [ 0, %ask2 ], [ %start1, %lengths ]
  %qf.at = getelementptr i64, ptr %from, i64 %q
  %qf = load i64, ptr %qf.at, align 8
  %qu.at = getelementptr i64, ptr %until, i64 %q
  %qu = load i64, ptr %qu.at, align 8
  %qn = sub i64 %qu, %qf
  %qb = mul i64 %qn, %pair
  %qs.at = getelementptr i64, ptr %sends, i64 %q
  store i64 %qb, ptr %qs.at, align 8
  %st.at = getelementptr i64, ptr %starts, i64 %q
  store i64 %start, ptr %st.at, align 8
  %seen.at = getelementptr i64, ptr %seen, i64 %q
  store i64 0, ptr %seen.at, align 8
  %start1 = add i64 %start, %qb
  %q1 = add i64 %q, 1
  %measured = icmp eq i64 %q1, %ranks
  br i1 %measured, label %packs, label %lengths
packs:
  %i = phi i64 [ 0, %lengths ], [ %i1, %packed ]
  %all = icmp eq i64 %i, %n
  br i1 %all, label %exchange, label %pack
pack:
  %p.at = getelementptr i64, ptr %at, i64 %i
  %p = load i64, ptr %p.at, align 8
  %pr = udiv i64 %p, %block
  %s.at = getelementptr i64, ptr %seen, i64 %pr
  %s = load i64, ptr %s.at, align 8
  %s1 = add i64 %s, 1
  store i64 %s1, ptr %s.at, align 8
  %pf.at = getelementptr i64, ptr %from, i64 %pr
  %pf = load i64, ptr %pf.at, align 8
  %pu.at = getelementptr i64, ptr %until, i64 %pr
  %pu = load i64, ptr %pu.at, align 8
  %late = icmp sge i64 %s, %pf
  %early = icmp slt i64 %s, %pu
  %now = and i1 %late, %early
  br i1 %now, label %put, label %packed
put:
  %w.at = getelementptr i64, ptr %starts, i64 %pr
  %w = load i64, ptr %w.at, align 8
  %dst = getelementptr i8, ptr %send, i64 %w
  store i64 %p, ptr %dst, align 1
  %vdst = getelementptr i8, ptr %dst, i64 8
  %voff = mul i64 %i, %width
  %vsrc = getelementptr i8, ptr %values, i64 %voff
  call void @llvm.memcpy.p0.p0.i64(ptr %vdst, ptr %vsrc, i64 %width, i1 false)
  %w1 = add i64 %w, %pair
  store i64 %w1, ptr %w.at, align 8
  br label %packed
packed:
  %i1 = add i64 %i, 1
  br label %packs
exchange:
  %code4 = call i32 @heal.all(ptr %send, ptr %sends, ptr %receive, ptr %receives)
  %bad4 = icmp ne i32 %code4, 0
  br i1 %bad4, label %fail, label %count
count:
  %c = phi i64 [ 0, %exchange ], [ %c1, %count ]
  %sum = phi i64 [ 0, %exchange ], [ %sum1, %count ]
  %cf.at = getelementptr i64, ptr %firsts, i64 %c
  %cf = load i64, ptr %cf.at, align 8
  %ce.at = getelementptr i64, ptr %ends, i64 %c
  %ce = load i64, ptr %ce.at, align 8
  %cn = sub i64 %ce, %cf
  %sum1 = add i64 %sum, %cn
  %c1 = add i64 %c, 1
  %counted = icmp eq i64 %c1, %ranks
  br i1 %counted, label %places, label %count
places:
  %g = phi i64 [ 0, %count ], [ %g1, %placed ]
  %done = icmp eq i64 %g, %size
  br i1 %done, label %end, label %place
place:
  %gt.at = getelementptr i64, ptr %to.at, i64 %g
  %goff = mul i64 %g, %width
  %gdst = getelementptr i8, ptr %to, i64 %goff
  %there = icmp slt i64 %g, %sum1
  br i1 %there, label %take, label %none
take:
  %toff = mul i64 %g, %pair
  %tsrc = getelementptr i8, ptr %receive, i64 %toff
  %tp = load i64, ptr %tsrc, align 1
  %local = sub i64 %tp, %first
  store i64 %local, ptr %gt.at, align 8
  %tv = getelementptr i8, ptr %tsrc, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr %gdst, ptr %tv, i64 %width, i1 false)
  br label %placed
none:
  store i64 %mine, ptr %gt.at, align 8
  call void @llvm.memset.p0.i64(ptr %gdst, i8 0, i64 %width, i1 false)
  br label %placed
placed:
  %g1 = add i64 %g, 1
  br label %places
fail:
  %why = phi i32 [ %code, %entry ], [ %code2, %ask ], [ %code3, %ask2 ], [ %code4, %exchange ]
  ret i32 %why
end:
  ret i32 0
}

; Where the block of a rank begins, of an axis that is cut for so many ranks, and how many elements it has.
define i64 @heal_block_of(i64 %extent, i32 %rank, i32 %ranks, ptr %begin) {
entry:
  %r = sext i32 %ranks to i64
  %less = sub i64 %r, 1
  %up = add i64 %extent, %less
  %n = sdiv i64 %up, %r
  br label %double
double:
  %unit = phi i64 [ 1, %entry ], [ %twice, %again ]
  %reach = mul i64 %unit, 32
  %small = icmp slt i64 %unit, 4096
  %fits = icmp sle i64 %reach, %n
  %more = and i1 %small, %fits
  br i1 %more, label %again, label %cut
again:
  %twice = mul i64 %unit, 2
  br label %double
cut:
  %u1 = sub i64 %unit, 1
  %sum = add i64 %n, %u1
  %units = sdiv i64 %sum, %unit
  %whole = mul i64 %units, %unit
  %block = call i64 @llvm.smax.i64(i64 %whole, i64 1)
  %k = sext i32 %rank to i64
  %lo0 = mul i64 %k, %block
  %lo = call i64 @llvm.smin.i64(i64 %lo0, i64 %extent)
  %hi0 = add i64 %lo0, %block
  %hi = call i64 @llvm.smin.i64(i64 %hi0, i64 %extent)
  %none = icmp eq ptr %begin, null
  br i1 %none, label %end, label %tell
tell:
  store i64 %lo, ptr %begin, align 8
  br label %end
end:
  %len = sub i64 %hi, %lo
  ret i64 %len
}
