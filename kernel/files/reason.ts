const REASONS: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "it is a directory",
  EEXIST: "a file is in its place",
  ENOTDIR: "a file is in its place",
  ENOENT: "it cannot be made there",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
};

/** Why a file or directory cannot be used, in words. */
export function reasonOf(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
