"""Stable-Baselines3: PPO, or DQN with its replay buffer (`--agent`), on Gymnasium's cart and pole, on one GPU."""

import gymnasium
from outcome import Outcome, arguments
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

given = arguments("--agent")
outcome = Outcome(given.out)


class Losses(BaseCallback):
    """Tells of each training phase, by what its logger holds then."""

    def __init__(self) -> None:
        super().__init__()
        self.told = 0

    def _on_step(self) -> bool:
        updates = self.logger.name_to_value.get("train/n_updates", 0)
        if updates > self.told:
            self.told = updates
            outcome.step(self.logger.name_to_value["train/loss"])
        return True


environment = gymnasium.make("CartPole-v1")
common = {"seed": 7, "device": given.device, "verbose": 0}
no_files = Logger(None, [])  # its own would be left behind in the folder for temporary files
if given.agent == "dqn":
    agent = DQN("MlpPolicy", environment, learning_starts=32, train_freq=8, target_update_interval=40, **common)
    agent.set_logger(no_files)
    agent.learn(32 + 8 * (given.steps + 1), callback=Losses(), log_interval=1000)
else:
    agent = PPO("MlpPolicy", environment, n_steps=64, batch_size=32, n_epochs=2, **common)
    agent.set_logger(no_files)
    agent.learn(64 * (given.steps + 1), callback=Losses(), log_interval=1000)
outcome.done(list(agent.policy.state_dict().items()))
