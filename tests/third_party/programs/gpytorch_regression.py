"""GPyTorch: an exact Gaussian process, then a variational one with inducing points, each fitted by Adam on one GPU."""

import gpytorch
import torch
from outcome import Outcome, arguments

given = arguments()
outcome = Outcome(given.out)
inputs = torch.linspace(0, 1, 100).to(given.device)
targets = torch.sin(inputs * 6.28) + 0.1 * torch.randn(100, generator=torch.Generator().manual_seed(2)).to(given.device)


class Exact(gpytorch.models.ExactGP):
    def __init__(self, likelihood: gpytorch.likelihoods.Likelihood) -> None:
        super().__init__(inputs, targets, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, inducing: torch.Tensor) -> None:
        shape = gpytorch.variational.CholeskyVariationalDistribution(inducing.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, shape))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit(model: gpytorch.models.GP, likelihood: gpytorch.likelihoods.Likelihood, objective: torch.nn.Module) -> None:
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.1)
    for _ in range(given.steps):
        optimizer.zero_grad()
        loss = -objective(model(inputs), targets)
        loss.backward()
        optimizer.step()
        outcome.step(loss.item())


noise = gpytorch.likelihoods.GaussianLikelihood().to(given.device)
exact = Exact(noise).to(given.device)
fit(exact, noise, gpytorch.mlls.ExactMarginalLogLikelihood(noise, exact))
noise_of_second = gpytorch.likelihoods.GaussianLikelihood().to(given.device)
variational = Variational(inputs[::10].clone()).to(given.device)
fit(variational, noise_of_second, gpytorch.mlls.VariationalELBO(noise_of_second, variational, num_data=100))
exact.eval(), noise.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    predicted = noise(exact(torch.linspace(0, 1, 31).to(given.device))).mean
outcome.done([*exact.state_dict().items(), *variational.state_dict().items(), ("predicted", predicted)])
