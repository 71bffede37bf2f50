/** The part of GitHub's large payload that the agent needs. Issues of bots are dropped. */
interface Delivery {
  body: {
    sender?: { type?: string };
    repository: { name: string };
    issue: { number: number; title: string; body: string | null; user: { login: string } };
  };
}

export default ({ body }: Delivery): unknown => {
  if (body.sender?.type === "Bot") return null;
  const { number, title, user } = body.issue;
  return {
    body: {
      repository: body.repository.name,
      number,
      title,
      author: user.login,
      text: body.issue.body ?? "",
    },
  };
};
