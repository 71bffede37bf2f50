/** What a hook may be called: it is a directory's name and a key of the configuration. */
export const hookName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const isHookName = (text: string): boolean => hookName.test(text);
