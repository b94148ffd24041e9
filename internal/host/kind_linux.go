package host

import "golang.org/x/sys/unix"

const lustreMagic = 0x0BD00BD0

// remote reports whether other machines serve a file system.
func remote(st unix.Statfs_t) bool {
	switch int64(st.Type) {
	case lustreMagic, unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC,
		unix.FUSE_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.V9FS_MAGIC,
		0x47504653, // GPFS
		0x19830326: // BeeGFS
		return true
	}
	return false
}

// bookkeeperOf returns the program that knows the quotas of a file system.
func bookkeeperOf(st unix.Statfs_t) bookkeeper {
	switch int64(st.Type) {
	case lustreMagic:
		return lfsCommand
	case unix.NFS_SUPER_MAGIC, unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC:
		return quotaCommand
	}
	return nobody
}
