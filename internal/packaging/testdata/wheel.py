"""Programs from Python, where the wheel of heal is all that is installed."""

import os
import sys
import warnings

import heal


def fails(error, text, call, *args, **named):
    try:
        call(*args, **named)
    except error as e:
        assert text in str(e), e
    else:
        assert False, "no " + error.__name__


assert os.path.dirname(heal.healc()) == os.path.dirname(sys.executable), heal.healc()
assert os.path.isfile(os.path.join(os.path.dirname(heal.__file__), "py.typed"))

# The text of a program.
text = "pub fn mean[N](x: f64[N]) -> f64 = +/(x) / (N as f64)\npub fn twice(x: f32[2]) -> f32[2] = x .* 2.0\n"
m = heal.compile(text, cpu="x86-64")
assert m.__name__ == "program" and m.mean([1, 2, 6]) == 3 and m.twice([1, 2]).tolist() == [2, 4]
assert "f64[N]" in m.mean.__doc__ and heal.compile(text, cpu="x86-64") is m
fails(ValueError, "axis 0 of x has extent 3", m.twice, [1, 2, 3])
kept = os.path.join(os.environ["HEAL_CACHE"], "python")
assert len(os.listdir(kept)) == 1
heal._loaded.clear()
before = os.stat(os.path.join(kept, os.listdir(kept)[0], "program.py")).st_mtime_ns
assert heal.compile(text, cpu="x86-64") is not m and len(os.listdir(kept)) == 1
assert os.stat(os.path.join(kept, os.listdir(kept)[0], "program.py")).st_mtime_ns == before
one = heal.compile(text, name="other", entry="mean", shape={"N": 3}, cpu="native")
assert one.mean([1, 2, 3]) == 2 and not hasattr(one, "twice") and one.__name__ == "other"
fails(ValueError, "", one.mean, [1, 2])
folder = os.path.dirname(one.__file__)
assert os.path.isdir(folder) and os.path.dirname(folder) != kept
del one

# A file, and one that imports another, which is compiled anew when that changes.
with open("a.heal", "w") as f:
    f.write('import "./b" as b\npub fn f(x: i64) -> i64 = b.g(x)\n')
for n in (1, 2):
    with open("b.heal", "w") as f:
        f.write("pub fn g(x: i64) -> i64 = x + %d\n" % n)
    assert heal.compile("a.heal", cpu="x86-64").f(5) == 5 + n
assert len(os.listdir(kept)) == 1

# What is wrong, with its place.
fails(heal.CompileError, "unknown name `y`\n  --> program.heal:1:21", heal.compile, "pub fn f() -> i32 = y")
fails(heal.CompileError, "there is no shape parameter `M`", heal.compile, text, shape={"M": 1})
fails(FileNotFoundError, "none.heal", heal.compile, "none.heal")
fails(ValueError, "cannot be called '2-d'", heal.compile, text, name="2-d")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert heal.compile("pub fn f(x: i32) -> i32 = {\n    let z = x;\n    x\n}").f(1) == 1
assert "variable `z` is never used" in str(said[0].message) and said[0].filename == __file__, said[0]

# A library that healc has made.
import subprocess

subprocess.check_call(["healc", "compile", "b.heal", "--cpu", "x86-64", "--emit", "so,python", "-o", "b.py"])
assert heal.load("b.py").g(1) == 3 and heal.load("libb.so").g(1) == 3
fails(FileNotFoundError, "no c.py beside", heal.load, "c.so")
fails(FileNotFoundError, "d.py", heal.load, "d.py")

# What docs/libraries.md shows.
with open("layernorm.heal", "w") as f:
    f.write("pub fn layernorm[N](x: f64[N]) -> f64[N] = x .- +/(x) / (N as f64)\n")
subprocess.check_call(["healc", "compile", "layernorm.heal", "--emit", "so,python", "-o", "layernorm.py"])
import heal

stats = heal.compile("pub fn mean[N](x: f64[N]) -> f64 = +/(x) / (N as f64)")
stats.mean([1, 2, 6])                                   # 3.0
layernorm = heal.compile("layernorm.heal").layernorm    # of a file
heal.load("layernorm.py")                               # what healc has made before
assert stats.mean([1, 2, 6]) == 3 and layernorm([1, 2, 6]).tolist() == [-2, -1, 3]

# Where healc cannot make machine code it says what is missing.
os.environ["HEAL_LIBLLVM"] = "/none"
fails(heal.CompileError, "libLLVM", heal.compile, "pub fn f() -> i32 = 7")

# The libraries that were not used for the longest time go.
n = len(os.listdir(kept))
heal._MOST = 1
heal._forget_oldest(kept, os.path.dirname(m.__file__))
assert n > 1 and os.listdir(kept) == [os.path.basename(os.path.dirname(m.__file__))]
os.environ["HEAL_CACHE"] = "off"
assert heal._cache() is None
os.environ["HEAL_CACHE"] = "open"
os.makedirs("open/python")
os.chmod("open/python", 0o777)
assert heal._cache() is None
print("it works")
