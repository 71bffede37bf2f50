const REASONS: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "it is a directory",
  EEXIST: "a file with this name exists",
  ENOTDIR: "a file with this name exists",
  ENOENT: "it cannot be created there",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
};

/** Describes why a file or directory cannot be used. */
export function describeReason(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
