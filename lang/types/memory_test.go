package types

import "testing"

func TestMemoryIsPartOfTheType(t *testing.T) {
	plain := Of(F32, 2, 3)
	cols, device, rows := plain, plain, plain
	cols.Layout, device.Place, rows.Sharding = ColMajor, OnDevice, ShardedAlong(1)
	for _, c := range []struct {
		t    Tensor
		want string
	}{{plain, "f32[2, 3]"}, {cols, "f32[2, 3] in col_major"}, {device, "f32[2, 3] on device"},
		{rows, "f32[2, 3] sharded(1)"}} {
		if c.t.String() != c.want {
			t.Errorf("%s is printed as %s", c.want, c.t)
		}
		if Equal(c.t, plain) != (c.want == plain.String()) {
			t.Errorf("%s and %s: Equal is %v", c.t, plain, Equal(c.t, plain))
		}
		s, err := Subst(c.t, map[string]Dim{"N": Lit(1)})
		if err != nil || !Equal(s, c.t) {
			t.Errorf("substitution makes %s of %s: %v", s, c.t, err)
		}
	}
	if b := Bare(Tuple{[]Type{cols, Tuple{[]Type{device, rows}}}}); b.String() !=
		"(f32[2, 3], (f32[2, 3], f32[2, 3]))" {
		t.Errorf("bare, it is %s", b)
	}
}

func TestShardings(t *testing.T) {
	var zero Sharding
	if zero != Replicated || zero.Axis() != -1 {
		t.Errorf("a sharding that nobody sets is along axis %d", zero.Axis())
	}
	for axis := range 64 {
		if s := ShardedAlong(axis); s == Replicated || s.Axis() != axis {
			t.Errorf("a sharding along axis %d is along axis %d", axis, s.Axis())
		}
	}
}

func TestMemoryNames(t *testing.T) {
	for i, n := range LayoutNames() {
		if l, ok := ParseLayout(n); !ok || l != Layout(i) || l.String() != n {
			t.Errorf("layout %s is %v, %v", n, l, ok)
		}
	}
	for i, n := range PlaceNames() {
		if p, ok := ParsePlace(n); !ok || p != Place(i) || p.String() != n {
			t.Errorf("place %s is %v, %v", n, p, ok)
		}
	}
	if _, ok := ParseLayout("rows"); ok {
		t.Error("there is a layout `rows`")
	}
	if _, ok := ParsePlace("moon"); ok {
		t.Error("there is a place `moon`")
	}
}
