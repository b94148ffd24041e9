package entries

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/ttree"
	"github.com/shardify/shardify/readers/root/internal/wire"
)

// What ttree.Branch.Type says.
const (
	custom    = -1 // the class has a streamer of its own
	leafOf    = 0  // a member, or by the ID a whole object
	baseClass = 1
	objectOf  = 2
	clones    = 3  // the count of a TClonesArray
	stl       = 4  // the count of a collection
	inClones  = 31 // a member of the objects in one
	inSTL     = 41
)

// Values of ttree.Branch.ID that are no member.
const (
	idObject = -1
	idGroup  = -2
)

// element interprets a TBranchElement.
func (r *Reading) element(infos *rfile.Infos) {
	b := r.Branch
	bld := &builder{infos: infos}
	switch {
	case b.Type == clones || b.Type == stl:
		r.Columns = []Column{{DType: shardify.I32, Type: "count"}}
		r.Hidden, r.layout, r.width = true, layoutFlat, 4
		r.fields = []flatField{{wire: wire.Plain(shardify.I32), per: 1}}
	case b.Type == inClones || b.Type == inSTL:
		r.count = countRef{branch: b.Counter, must: true}
		r.memberBranch(bld, 1, true)
	case b.Type == baseClass || b.Type == objectOf || b.Type == leafOf && b.ID == idGroup:
		if b.Baskets.Len() > 0 && len(b.Children) == 0 && b.ID != idGroup {
			r.memberBranch(bld, 0, false)
		}
	case b.Type == leafOf && b.ID >= 0:
		if len(b.Children) > 0 && b.Baskets.Len() == 0 {
			return
		}
		r.memberBranch(bld, 0, false)
	case b.Type == leafOf && b.ID == idObject:
		if len(b.Children) > 0 && b.Baskets.Len() == 0 {
			return
		}
		r.whole(bld)
	case b.Type == custom && wire.IsText(wire.Tidy(b.ClassName)):
		r.whole(bld)
	case b.Type == custom && framedClass(b.ClassName):
		r.framed(bld, nil)
	case b.Type == custom:
		r.refuse(b.ClassName, fmt.Sprintf("class %s with a streamer of its own", b.ClassName))
	default:
		r.damaged(b.ClassName, shardify.Corrupt(-1, "branch of type %d", b.Type))
	}
}

// framedClass reports whether the own streamer of a class writes what its description says.
func framedClass(name string) bool {
	class := wire.Tidy(name)
	_, isArray := arrayClasses[class]
	return isArray || class == "TLorentzVector" || class == "TVector3" || class == "TVector2" || class == "TDatime"
}

// framed interprets a branch that has objects as their streamers write them, with a
// frame, behind other steps.
func (r *Reading) framed(bld *builder, before []step) {
	class := wire.Tidy(r.Branch.ClassName)
	s, err := bld.object(class, rfile.CodeAny, "", 0)
	r.build(bld, append(before, s), err, class)
}

// object interprets a TBranchObject, which has objects of a class or of one below it.
func (r *Reading) object(infos *rfile.Infos) {
	b := r.Branch
	switch {
	case b.Baskets.Len() == 0 && len(b.Children) > 0:
	case len(b.Leaves) != 1 || b.Leaves[0].Class != "TLeafObject":
		r.refuse(b.ClassName, "branch of class TBranchObject without a TLeafObject")
	case !framedClass(b.ClassName):
		r.refuse(b.ClassName, fmt.Sprintf("class %s, which may have a streamer of its own", b.ClassName))
	case b.Leaves[0].Virtual:
		r.framed(&builder{infos: infos}, []step{{op: opClass, class: &rfile.StreamerInfo{Name: wire.Tidy(b.ClassName)}}})
	default:
		r.framed(&builder{infos: infos}, nil)
	}
}

// whole interprets a branch that has objects, or collections, in one piece.
func (r *Reading) whole(bld *builder) {
	b := r.Branch
	class := wire.Tidy(strings.TrimSuffix(wire.Tidy(b.ClassName), "*"))
	var steps []step
	var err error
	switch {
	case wire.IsText(class):
		steps = []step{bld.text(opText, "", 0, class)}
		r.bare = true
	case strings.HasPrefix(class, "bitset<"), isCollection(class):
		var s step
		s, err = bld.collection(class, 0, "", 0, 0)
		steps = []step{s}
	default:
		switch class {
		case "TClonesArray", "TRefArray", "TObjArray", "TList":
			r.refuse(class, class+" that is not split")
			return
		}
		info := bld.infos.Find(class, b.ClassVersion, b.CheckSum)
		if info == nil {
			info = bld.infos.Latest(class)
		}
		if info == nil {
			r.undescribed(bld.infos, class, "class "+class)
			return
		}
		steps, err = bld.members(info, "", 0, false)
	}
	r.build(bld, steps, err, class)
}

// undescribed refuses a branch whose class the file does not describe. If it describes
// one with the checksum of the class, one of the two names is damaged.
func (r *Reading) undescribed(infos *rfile.Infos, class, what string) {
	if sum := r.Branch.CheckSum; sum != 0 {
		for _, info := range infos.All() {
			if info.CheckSum == sum && !infos.Has(class) {
				r.damaged(class, shardify.Corrupt(-1, "%s is not described in the file, and what has its checksum is class %s", what, info.Name))
				return
			}
		}
	}
	r.refuse(class, what+" is not described in the file")
}

func isCollection(name string) bool { _, _, ok := wire.ItemOf(name); return ok }

// build takes over what the builder made, if it made anything.
func (r *Reading) build(bld *builder, steps []step, err error, typ string) {
	if err != nil {
		r.damaged(typ, err)
		return
	}
	readable := false
	for i := range bld.cols {
		readable = readable || bld.cols[i].Unreadable == ""
	}
	if !readable {
		reason := "nothing in it has a flat form"
		if len(bld.cols) == 1 {
			reason = bld.cols[0].Unreadable
		}
		r.refuse(typ, reason)
		return
	}
	r.program(bld, steps)
}

// memberBranch interprets a branch that has one member of a class.
func (r *Reading) memberBranch(bld *builder, level int, apart bool) {
	b := r.Branch
	e := r.described(bld.infos)
	if e == nil {
		if e = r.guessed(); e == nil {
			r.undescribed(bld.infos, b.ClassName, fmt.Sprintf("member %d of class %s", b.ID, b.ClassName))
			return
		}
	}
	plain := *e
	plain.Name = ""
	if e.CountName != "" && e.Type > rfile.CodeCounted && e.Type < rfile.CodesEnd {
		counts := strings.TrimSuffix(stripDims(b.Name), e.Name) + e.CountName
		if level == 0 {
			r.count = countRef{branch: sibling(b, counts)}
		} else {
			r.each = countRef{branch: sibling(b, counts), leaf: counts, must: true}
		}
	}
	steps, err := bld.member(&plain, "", level, apart)
	typ := e.TypeName
	r.build(bld, steps, err, typ)
}

// sibling finds the branch beside b with this name.
func sibling(b *ttree.Branch, name string) *ttree.Branch {
	list := b.Tree.Branches
	if b.Parent != nil {
		list = b.Parent.Children
	}
	for _, s := range list {
		if stripDims(s.Name) == name && s != b {
			return s
		}
	}
	return nil
}

// stripDims takes "[10]" off the end of a branch's name.
func stripDims(name string) string {
	if i := strings.IndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") {
		return name[:i]
	}
	return name
}

// described is the member in the streamer infos.
func (r *Reading) described(infos *rfile.Infos) *rfile.Element {
	b := r.Branch
	info := infos.Find(b.ClassName, b.ClassVersion, b.CheckSum)
	if info == nil {
		info = infos.Latest(b.ClassName)
	}
	if info == nil || b.ID < 0 || b.ID >= len(info.Elements) {
		return nil
	}
	e := &info.Elements[b.ID]
	last := stripDims(b.Name)
	last = last[strings.LastIndexByte(last, '.')+1:]
	if e.Name != last {
		// Numbers may be those of another version of the class.
		if other := info.Element(last); other != nil {
			return other
		}
	}
	return e
}

// guessed is the member by what the branch alone says.
func (r *Reading) guessed() *rfile.Element {
	b := r.Branch
	if len(b.Leaves) != 1 {
		return nil
	}
	l := b.Leaves[0]
	e := &rfile.Element{Name: b.Name, Title: l.Title, Type: b.StreamerType}
	switch t := b.StreamerType; {
	case t > 0 && t < rfile.CodeArray && (l.Count == nil || b.Type == inClones || b.Type == inSTL):
		return e
	case t > rfile.CodeArray && t < rfile.CodeCounted && l.Len > 0 && l.Len <= maxRepeat:
		e.Len = l.Len
		for _, d := range leafShape(l.Title, l.Len) {
			e.Dims = append(e.Dims, int32(d))
		}
		return e
	case t == rfile.CodeSTLString, t == rfile.CodeTString:
		return e
	}
	return nil
}
