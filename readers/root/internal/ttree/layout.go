package ttree

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// layoutField reads one member of a class.
type layoutField struct {
	kind kind
	to   member // where the value goes; mNone: nowhere
	n    member // number of values, for counted arrays
	size int    // bytes of a value in arrays
}

type kind uint8

const (
	kI8 kind = iota
	kU8
	kI16
	kU16
	kI32
	kU32
	kI64
	kF32
	kF64
	kStr
	kNamed   // TNamed
	kTObject // TObject as a base
	kFrame   // anything framed, passed by its byte count
	kSlot    // object slot
	kObjects // TObjArray
	kArray   // TArrayI, TArrayD ...: count and values
	kCounted // flag, and if that is not 0, as many values as member n says
	kSeek    // the same, with 8-byte values if the flag is 2 (old TBranch)
	kIOBits  // TIOFeatures
	kRest    // everything up to the end of the frame
)

// member is a place for a value of a tree, branch or leaf.
type member uint8

const (
	mNone member = iota
	mName
	mTitle
	mEntries
	mTotBytes
	mZipBytes
	mAutoFlush
	mNClusterRange
	mClusterRangeEnd
	mClusterSize
	mIOBits
	mBranches
	mLeaves
	mAliases
	mFriends
	mCompress
	mEntryOffsetLen
	mWriteBasket
	mEntryNumber
	mMaxBaskets
	mSplitLevel
	mFirstEntry
	mBaskets
	mBasketBytes
	mBasketEntry
	mBasketSeek
	mFileName
	mClassName
	mParentName
	mClonesName
	mCheckSum
	mClassVersion
	mID
	mType
	mStreamerType
	mBranchCount
	mBranchCount2
	members
)

// memberOf is the place for a data member by its name in streamer infos.
var memberOf = map[string]member{
	"fEntries": mEntries, "fTotBytes": mTotBytes, "fZipBytes": mZipBytes,
	"fAutoFlush": mAutoFlush, "fNClusterRange": mNClusterRange, "fClusterRangeEnd": mClusterRangeEnd,
	"fClusterSize": mClusterSize, "fIOFeatures": mIOBits, "fBranches": mBranches, "fLeaves": mLeaves,
	"fAliases": mAliases, "fFriends": mFriends, "fCompress": mCompress, "fEntryOffsetLen": mEntryOffsetLen,
	"fWriteBasket": mWriteBasket, "fEntryNumber": mEntryNumber, "fMaxBaskets": mMaxBaskets,
	"fSplitLevel": mSplitLevel, "fFirstEntry": mFirstEntry, "fBaskets": mBaskets, "fBasketBytes": mBasketBytes,
	"fBasketEntry": mBasketEntry, "fBasketSeek": mBasketSeek, "fFileName": mFileName, "fClassName": mClassName,
	"fParentName": mParentName, "fClonesName": mClonesName, "fCheckSum": mCheckSum,
	"fClassVersion": mClassVersion, "fID": mID, "fType": mType, "fStreamerType": mStreamerType,
	"fBranchCount": mBranchCount, "fBranchCount2": mBranchCount2,
}

// at is a layoutField for one plain member; skip passes one of n values.
func at(k kind, to member) layoutField { return layoutField{kind: k, to: to} }

func times(k kind, n int) []layoutField {
	s := make([]layoutField, n)
	for i := range s {
		s[i].kind = k
	}
	return s
}

// treeLayout is the order of members in a TTree, nil for a version that only the
// file's streamer infos know. fLeaves is passed: it repeats the branches' leaves.
func treeLayout(version int) []layoutField {
	switch {
	case version == 5 || version == 6:
		return concat(treeBases, []layoutField{at(kF64, mEntries), at(kF64, mTotBytes), at(kF64, mZipBytes), at(kF64, mNone)},
			times(kI32, 7), []layoutField{at(kObjects, mBranches), at(kObjects, mNone), at(kRest, mNone)})
	case version < 16 || version > 20:
		return nil
	}
	s := concat(treeBases, []layoutField{at(kI64, mEntries), at(kI64, mTotBytes), at(kI64, mZipBytes), at(kI64, mNone)})
	if version >= 18 {
		s = append(s, at(kI64, mNone)) // fFlushedBytes
	}
	s = concat(s, []layoutField{at(kF64, mNone)}, times(kI32, 3))
	if version >= 17 {
		s = append(s, at(kI32, mNone)) // fDefaultEntryOffsetLen
	}
	if version >= 19 {
		s = append(s, at(kI32, mNClusterRange))
	}
	s = concat(s, times(kI64, 4)) // fMaxEntries ... fAutoSave
	if version >= 18 {
		s = append(s, at(kI64, mAutoFlush))
	}
	s = append(s, at(kI64, mNone)) // fEstimate
	if version >= 19 {
		s = append(s, layoutField{kCounted, mClusterRangeEnd, mNClusterRange, 8}, layoutField{kCounted, mClusterSize, mNClusterRange, 8})
	}
	if version >= 20 {
		s = append(s, at(kIOBits, mIOBits))
	}
	return append(s, at(kObjects, mBranches), at(kObjects, mNone), at(kSlot, mAliases),
		layoutField{kind: kArray, size: 8}, layoutField{kind: kArray, size: 4}, at(kSlot, mNone), at(kSlot, mFriends), at(kRest, mNone))
}

var treeBases = []layoutField{at(kNamed, mName), at(kFrame, mNone), at(kFrame, mNone), at(kFrame, mNone)}

// branchLayout is the order of members in a TBranch.
func branchLayout(version int) []layoutField {
	s := []layoutField{at(kNamed, mName)}
	if version >= 8 {
		s = append(s, at(kFrame, mNone)) // TAttFill
	}
	s = append(s, at(kI32, mCompress), at(kI32, mNone), at(kI32, mEntryOffsetLen), at(kI32, mWriteBasket))
	lists := []layoutField{at(kObjects, mBranches), at(kObjects, mLeaves), at(kObjects, mBaskets)}
	switch {
	case version >= 6 && version < 10:
		s = append(s, at(kI32, mEntryNumber), at(kI32, mNone), at(kI32, mMaxBaskets))
		if version > 6 {
			s = append(s, at(kI32, mSplitLevel))
		}
		s = append(s, at(kF64, mEntries), at(kF64, mTotBytes), at(kF64, mZipBytes))
		return concat(s, lists, []layoutField{{kCounted, mBasketBytes, mMaxBaskets, 4}, {kCounted, mBasketEntry, mMaxBaskets, 4},
			{kSeek, mBasketSeek, mMaxBaskets, 4}, at(kStr, mFileName)})
	case version < 6 || version > 13:
		return nil
	}
	s = append(s, at(kI64, mEntryNumber))
	if version >= 13 {
		s = append(s, at(kIOBits, mIOBits))
	}
	s = append(s, at(kI32, mNone), at(kI32, mMaxBaskets), at(kI32, mSplitLevel), at(kI64, mEntries))
	if version >= 11 {
		s = append(s, at(kI64, mFirstEntry))
	}
	s = append(s, at(kI64, mTotBytes), at(kI64, mZipBytes))
	return concat(s, lists, []layoutField{{kCounted, mBasketBytes, mMaxBaskets, 4}, {kCounted, mBasketEntry, mMaxBaskets, 8},
		{kCounted, mBasketSeek, mMaxBaskets, 8}, at(kStr, mFileName)})
}

// elementLayout is the order of members in a TBranchElement behind its base.
func elementLayout(version int) []layoutField {
	if version == 1 {
		return []layoutField{at(kStr, mClassName), at(kI32, mClassVersion), at(kI32, mID), at(kI32, mType), at(kI32, mStreamerType)}
	}
	if version < 8 || version > 10 {
		return nil
	}
	classVersion := kI32
	if version == 10 {
		classVersion = kI16
	}
	return []layoutField{at(kStr, mClassName), at(kStr, mParentName), at(kStr, mClonesName), at(kU32, mCheckSum),
		at(classVersion, mClassVersion), at(kI32, mID), at(kI32, mType), at(kI32, mStreamerType), at(kI32, mNone),
		at(kSlot, mBranchCount), at(kSlot, mBranchCount2)}
}

func concat(parts ...[]layoutField) []layoutField {
	var s []layoutField
	for _, p := range parts {
		s = append(s, p...)
	}
	return s
}

// infoLayout makes a layout of a streamer info, for versions newer than this
// program. base is the name of the base class that the caller reads itself.
func infoLayout(info *rfile.StreamerInfo, base string) ([]layoutField, error) {
	var s []layoutField
	for i := range info.Elements {
		el := &info.Elements[i]
		if el.Class == "TStreamerBase" && el.Name == base {
			continue
		}
		st, err := elementStep(el)
		if err != nil {
			return nil, err
		}
		s = append(s, st)
	}
	return s, nil
}

// plainKind is the kind of a basic type by its code.
var plainKind = map[int]kind{1: kI8, 2: kI16, 3: kI32, 4: kI64, 5: kF32, 6: kI32, 8: kF64, 11: kU8, 12: kU16, 13: kU32, 14: kI64, 16: kI64, 17: kI64, 18: kU8}

var plainSize = map[kind]int{kI8: 1, kU8: 1, kI16: 2, kU16: 2, kI32: 4, kU32: 4, kI64: 8, kF32: 4, kF64: 8}

func elementStep(el *rfile.Element) (layoutField, error) {
	to := memberOf[el.Name]
	if k, ok := plainKind[el.Type]; ok {
		return at(k, to), nil
	}
	if k, ok := plainKind[el.Type-rfile.CodeCounted]; ok && el.CountName != "" {
		return layoutField{kCounted, to, memberOf[el.CountName], plainSize[k]}, nil
	}
	switch {
	case el.Type == rfile.CodeTNamed || el.Type == rfile.CodeBase && el.Name == "TNamed":
		return at(kNamed, mName), nil
	case el.Type == rfile.CodeTObject || el.Type == rfile.CodeNone:
		return at(kTObject, mNone), nil
	case el.Type == rfile.CodeTString:
		return at(kStr, to), nil
	case el.Type == rfile.CodeBase:
		return at(kFrame, mNone), nil
	case el.TypeName == "TArrayD":
		return layoutField{kind: kArray, size: 8}, nil
	case el.TypeName == "TArrayI":
		return layoutField{kind: kArray, size: 4}, nil
	case el.TypeName == "TObjArray":
		return at(kObjects, to), nil
	case el.TypeName == "ROOT::TIOFeatures":
		return at(kIOBits, to), nil
	case el.Type == rfile.CodeObject || el.Type == rfile.CodeAny:
		return at(kFrame, mNone), nil
	case el.Type == rfile.CodeObjectP || el.Type == rfile.CodeObjectPtr || el.Type == rfile.CodeAnyP || el.Type == rfile.CodeAnyPtr:
		return at(kSlot, to), nil
	}
	return layoutField{}, shardify.Unsupported("member %s of type %s, code %d", el.Name, el.TypeName, el.Type)
}
