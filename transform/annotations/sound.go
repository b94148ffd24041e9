package annotations

import (
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/sound"
)

// soundFields are the values of a recording, in the place of the file, and how many of them a second has.
func soundFields(s *Spec) []made {
	m := made{dtype: s.kind.dtype}
	if s.as != shardify.Invalid {
		m.dtype = s.as
	}
	if !s.mix && s.kind.channels > 1 {
		m.shape = []int{s.kind.channels}
	}
	return []made{m, {name: "rate", dtype: shardify.I32, one: true}}
}

// recorded is what recordings must agree in.
type recorded struct {
	dtype    shardify.DType
	channels int
}

// String is the text of KEY of=.
func (k recorded) String() string {
	if k.channels == 0 {
		return k.dtype.String()
	}
	return k.dtype.String() + "x" + strconv.Itoa(k.channels)
}

// parse reads TYPExN; of recordings some types alone.
func (k *recorded) parse(text string, sound bool) bool {
	m := rawForm().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	k.dtype, _ = shardify.ParseDType(m[1])
	k.channels, _ = strconv.Atoi(m[2])
	if sound && !slices.Contains([]shardify.DType{shardify.U8, shardify.I16, shardify.I32, shardify.F32, shardify.F64}, k.dtype) {
		return false
	}
	return (k.channels > 0 || !sound && m[2] == "") && k.dtype != shardify.Invalid && !(sound && k.dtype == shardify.Bool)
}

// Look takes the type of a file for that of all.
func (s *Spec) Look(file []byte) error {
	if !s.sound() {
		v, err := arrays[s.form](file)
		if err == nil {
			s.kind, s.Looks = recorded{v.DType(), len(v.Shape())}, false
		}
		return err
	}
	r, err := sound.Read(s.form, file, s.short)
	if err == nil {
		s.kind, s.Looks = recorded{r.DType, r.Channels}, false
	}
	return err
}

// recording reads the values of a recording.
func recording(s *Spec, file []byte, r *rows) error {
	in, err := sound.Read(s.form, file, s.short)
	if err != nil {
		return err
	}
	as := s.as
	switch found := (recorded{in.DType, in.Channels}); {
	case !s.mix && in.Channels != s.kind.channels:
		return shardify.Hint(shardify.Mismatch("%d channels, where others have %d", in.Channels, s.kind.channels), s.unify("as=f32 channels=1"))
	case as == shardify.Invalid && found != s.kind:
		return shardify.Hint(shardify.Mismatch("values of %v, where others have %v", found.dtype, s.kind.dtype), s.unify("as=f32"))
	case as == shardify.Invalid:
		as = in.DType
	}
	c := &r.columns[0]
	if c.data, err = in.Append(c.data, as, s.mix); err != nil {
		return err
	}
	r.objects += in.Frames
	r.i32(1, in.Rate)
	return nil
}

// unify is a hint that makes files alike.
func (s *Spec) unify(keys string) string {
	return "--parse '" + s.Field + "=" + s.form + " " + keys + "' reads both"
}
