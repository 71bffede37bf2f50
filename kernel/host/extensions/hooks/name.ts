/** The pattern of hook names, which are directory names and configuration keys. */
export const hookName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const isHookName = (text: string): boolean => hookName.test(text);
