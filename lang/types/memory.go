package types

// Layout is how a tensor from outside of the program lies in memory. The zero value is row-major.
type Layout uint8

// The layouts.
const (
	RowMajor Layout = iota // the default; of a parameter, any strides are taken
	ColMajor               // the first axis is the fastest, without gaps
	Strided                // any strides
)

var layoutNames = [...]string{"row_major", "col_major", "strided"}

// String is the layout's name in source.
func (l Layout) String() string { return layoutNames[l] }

// ParseLayout is the layout of that name.
func ParseLayout(name string) (Layout, bool) {
	for i, n := range layoutNames {
		if n == name {
			return Layout(i), true
		}
	}
	return RowMajor, false
}

// LayoutNames lists the names of the layouts.
func LayoutNames() []string { return append([]string(nil), layoutNames[:]...) }

// Place is the memory that holds a tensor. The zero value is the host's.
type Place uint8

// The places.
const (
	OnHost    Place = iota // the memory of the processor
	OnDevice               // the memory of a GPU
	OnUnified              // memory that both reach
)

var placeNames = [...]string{"host", "device", "unified"}

// String is the place's name in source.
func (p Place) String() string { return placeNames[p] }

// ParsePlace is the place of that name.
func ParsePlace(name string) (Place, bool) {
	for i, n := range placeNames {
		if n == name {
			return Place(i), true
		}
	}
	return OnHost, false
}

// PlaceNames lists the names of the places.
func PlaceNames() []string { return append([]string(nil), placeNames[:]...) }

// Sharding says which part of a tensor a rank has. The zero value is Replicated.
type Sharding uint8

// Replicated is the sharding of a tensor that every rank has, whole.
const Replicated Sharding = 0

// ShardedAlong is the sharding of a tensor that is cut into blocks along an axis, one for each rank.
func ShardedAlong(axis int) Sharding { return Sharding(axis + 1) }

// Axis is the axis that is cut, -1 for a replicated tensor.
func (s Sharding) Axis() int { return int(s) - 1 }

// Bare is t in the default layout, place and sharding, which is what tensors inside of the IR have.
func Bare(t Type) Type {
	return Map(t, func(x Tensor) Tensor {
		x.Layout, x.Place, x.Sharding = RowMajor, OnHost, Replicated
		return x
	})
}
